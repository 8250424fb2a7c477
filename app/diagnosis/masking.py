"""Masks secrets in everything a diagnosis shows, and counts what the log holds of them."""

from dataclasses import fields, is_dataclass
from typing import Any, Final

from app.diagnosis.redact import redact
from app.diagnosis.result import Diagnosis

_KEPT: Final = frozenset(
    {"template", "entry_id", "slug", "error_class", "package", "meaning", "title", "role", "kind"}
    | {"frame", "site", "not_this_if", "family", "severity", "verdict", "engine", "release"}
    | {"fixes", "rank", "ranks", "raised_at"}
)
"""Written by the catalog or reduced to the package's own paths: nothing of the user's in it."""
_FIELDS: dict[type, tuple[str, ...]] = {}


def mask_all(diagnosis: Diagnosis, log: str) -> Diagnosis:
    """Mask every text of the log in a diagnosis, in place.

    Args:
        diagnosis: the answer.
        log: what was read of the log, to count its secrets.
    """
    diagnosis.redacted = redact(log)[1]
    if diagnosis.redacted:
        _mask(diagnosis)
    return diagnosis


def _mask(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)[0]
    if isinstance(value, int | float) or value is None:
        return value
    if isinstance(value, list):
        value[:] = [_mask(v) for v in value]
    elif isinstance(value, dict):
        for key in value:
            value[key] = _mask(value[key])
    elif is_dataclass(value):
        for name in _fields(type(value)):
            setattr(value, name, _mask(getattr(value, name)))
    return value


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a class that may hold text of the log."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = tuple(f.name for f in fields(kind) if f.name not in _KEPT)
    return known
