"""Masks secrets in everything a diagnosis shows, and counts what the log holds of them."""

from dataclasses import fields, is_dataclass
from typing import Any, Final

from app.diagnosis.redact import redact
from app.diagnosis.result import Diagnosis

_KEPT: Final = frozenset(
    {"template", "entry_id", "slug", "error_class", "package", "meaning", "title", "role", "kind"}
    | {"frame", "site", "not_this_if", "family", "severity", "verdict", "engine", "release"}
)
"""Written by the catalog or reduced to the package's own paths: nothing of the user's in it."""


def mask_all(diagnosis: Diagnosis, log: str) -> Diagnosis:
    """Mask every text of the log in a diagnosis, in place.

    Args:
        diagnosis: the answer.
        log: what was read of the log, to count its secrets.
    """
    diagnosis.redacted = redact(log)[1]
    _mask(diagnosis)
    return diagnosis


def _mask(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)[0]
    if isinstance(value, list):
        value[:] = [_mask(v) for v in value]
    elif isinstance(value, dict):
        for key in value:
            value[key] = _mask(value[key])
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            if f.name not in _KEPT:
                setattr(value, f.name, _mask(getattr(value, f.name)))
    return value
