"""`data/evidence/<slug>.jsonl`: the newest run of an entry for each release, device and step.

One run record a line, in the order of releases. A line is written anew only if more than its time
changed, so that verifying again leaves the files as they are unless a verdict, a value or a version
is another.
"""

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
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
    path: Path, runs: Iterable[Run], *, declared: Callable[[str], bool] | None = None
) -> bool:
    """Bring a file up to date with new runs; runs of other releases and devices stay.

    A run that was skipped shows nothing, so it never takes the place of one that passed. Writers
    of one folder take turns.

    Args:
        path: see `evidence_path`.
        runs: finished runs of the entry.
        declared: whether its reproducer declares a subject; lines of others are dropped. What could
            not be listed or fetched today is still declared. None keeps every line.

    Returns:
        Whether the file changed.

    Raises:
        BadInputError: the file that is there cannot be read.
        UnavailableError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _turn(path.parent):
            return _merge(path, runs, declared)
    except OSError as e:
        raise UnavailableError(f"{path} cannot be written ({e}).") from e


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that what is read is still there when it is written."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _merge(path: Path, runs: Iterable[Run], declared: Callable[[str], bool] | None) -> bool:
    old = {_key(r): r for r in read_evidence(path)}
    merged = {k: r for k, r in old.items() if declared is None or declared(k[0])}
    for run in runs:
        record = record_of(run)
        known = old.get(_key(record))
        if known and known.get("passed") and record["outcome"] == "skipped":
            continue
        if known is None or _lasting(known) != _lasting(record):
            merged[_key(record)] = record
    if merged == old:
        return False
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".evidence-", delete=False
    ) as part:
        part.writelines(_line(merged[k]) for k in sorted(merged, key=_order))
    Path(part.name).chmod(0o644)
    os.replace(part.name, path)  # noqa: PTH105  # whole or not at all
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
