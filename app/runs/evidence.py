"""`data/evidence/<slug>.jsonl`: the newest run of an entry for each release, device and step.

One run record a line, in the order of releases. A line is written anew only if more than its time
changed, so that verifying again leaves the files as they are unless a verdict, a value or a version
is another.
"""

import json
import os
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version
from pydantic.alias_generators import to_camel

from app.exceptions import BadInputError, UnavailableError
from app.models import Run
from app.settings import DATA_DIR

EVIDENCE_DIR: Final = DATA_DIR / "evidence"
_VOLATILE: Final = frozenset({"id", "seconds", "startedAt", "stdout", "isolation"})
"""What may differ between two runs that show the same."""

Record = dict[str, Any]


def evidence_path(slug: str, folder: Path = EVIDENCE_DIR) -> Path:
    """Where an entry's evidence lies."""
    return folder / f"{slug}.jsonl"


def read_evidence(path: Path) -> list[Record]:
    """The run records of a file; none if there is no file.

    Raises:
        BadInputError: a line is not a run record; names it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            _key(record)
        except (ValueError, KeyError, TypeError) as e:
            raise BadInputError(f"{path}:{number} is not a run record ({e}).") from e
        records.append(record)
    return records


def write_evidence(
    path: Path, runs: Iterable[Run], *, subjects: Collection[str] | None = None
) -> bool:
    """Bring a file up to date with new runs; runs of other releases and devices stay.

    Args:
        path: see `evidence_path`.
        runs: finished runs of the entry.
        subjects: all that its reproducer declares; lines of others are dropped. None keeps them.

    Returns:
        Whether the file changed.

    Raises:
        BadInputError: the file that is there cannot be read.
        UnavailableError: it cannot be written.
    """
    old = {_key(r): r for r in read_evidence(path)}
    merged = {k: r for k, r in old.items() if subjects is None or k[0] in subjects}
    for run in runs:
        record = record_of(run)
        known = old.get(_key(record))
        if known is None or _lasting(known) != _lasting(record):
            merged[_key(record)] = record
    if merged == old:
        return False
    lines = [_line(merged[k]) for k in sorted(merged, key=_order)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".evidence-", delete=False
        ) as part:
            part.writelines(lines)
        Path(part.name).chmod(0o644)
        os.replace(part.name, path)  # noqa: PTH105  # whole or not at all
    except OSError as e:
        raise UnavailableError(f"{path} cannot be written ({e}).") from e
    return True


def record_of(run: Run) -> Record:
    """A run as a line of evidence: the contract's keys, without what was printed."""
    record = {to_camel(k): v for k, v in run.model_dump(mode="json").items()}
    return record | {"stdout": ""}


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"


def _key(record: Record) -> tuple[str, str, str]:
    return str(record["subject"]), str(record["device"]), str(record["step"])


def _lasting(record: Record) -> str:
    return _line({k: v for k, v in record.items() if k not in _VOLATILE})


def _order(key: tuple[str, str, str]) -> tuple[int, str, Version, str, bool]:
    """Releases by package and version, then the reference; trigger before fix."""
    subject, device, step = key
    package, _, version = subject.partition("==")
    try:
        return 0, package, Version(version), device, step != "trigger"
    except InvalidVersion:
        return 1, package, Version("0"), device, step != "trigger"
