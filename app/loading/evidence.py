"""Loads `data/evidence/*.jsonl`: the runs that are shipped with the project.

They stand beside the runs that were made here and are marked `shipped`. Loading is all or nothing
and can be repeated; a run that is no longer in a file is gone, a run made here is never touched.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_snake
from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.db import to_be_loaded, touch, write_meta
from app.exceptions import BadInputError
from app.models import Entry, Explanation, Run, RunBase
from app.settings import DATA_DIR
from reproducers.protocol import shows

EVIDENCE_DIR = DATA_DIR / "evidence"
SHIPPED = "shipped"


def load_evidence(db: Session, folder: Path = EVIDENCE_DIR, *, force: bool = False) -> int:
    """Bring the shipped runs up to date with the files.

    Args:
        db: the open session; the caller commits.
        folder: where the files lie.
        force: load even if no file has changed since the last time.

    Returns:
        How many shipped runs there are.

    Raises:
        BadInputError: a line is not a run record, or it says that a run passed that did not by
            what else it says; names file and line. Nothing is changed.
    """
    paths = sorted(folder.glob("*.jsonl"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    owners = {e.slug: e.entry_id for e in db.exec(select(Explanation))}
    silent = set(db.exec(select(Entry.id).where(Entry.error_type == "silent")))
    known = [*map(str, sorted(owners.items())), *sorted(silent)]
    state = "\0".join([*(p.name for p in paths), *texts, *known])
    digest = hashlib.sha256(state.encode()).hexdigest()
    if not to_be_loaded(db, "evidence", digest, force=force):
        return sum(text.count("\n") for text in texts)
    quiet = {slug for slug, entry_id in owners.items() if entry_id in silent}
    loud = set(owners) - quiet
    runs = [
        run
        for path, text in zip(paths, texts, strict=True)
        for run in _runs(path, text, {"wrong-result": loud, "raised": quiet})
    ]
    db.execute(delete(Run).where(col(Run.origin) == SHIPPED))
    local = set(db.exec(select(Run.id)))
    for run in runs:
        if run.id in local:
            continue
        local.add(run.id)
        run.entry_id = owners.get(run.slug or "", run.entry_id)
        db.add(run)
    write_meta(db, "evidence", digest)
    touch(db, catalog=False)
    return len(runs)


def _runs(path: Path, text: str, impossible: Mapping[str, Collection[str]]) -> Iterator[Run]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            run = _run(raw)
            _agree(run, impossible)
            yield run
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as e:
            said = str(e).splitlines()[0]
            raise BadInputError(f"{path}:{number} is not a run record: {said}") from e


def _agree(run: Run, impossible: Mapping[str, Collection[str]]) -> None:
    """Work out anew whether a run passed, and hold what its line says against it.

    Args:
        run: what the line says.
        impossible: by outcome the slugs whose trigger cannot pass with it: an error with an
            exception does not show by a wrong result, nor a silent one by an exception.

    Raises:
        ValueError: the line contradicts itself.
    """
    shown = shows(
        run.step,
        outcome=run.outcome,
        matched=run.matched,
        guard_reached=run.guard_reached,
        checks=run.checks,
    )
    if run.step == "trigger" and run.slug in impossible.get(run.outcome or "", ()):
        shown = False
        if not run.passed:
            return
    if (run.reason or "").startswith("invalid"):
        shown = False
    if run.passed != shown:
        said, found = ("passed", "it did not") if run.passed else ("did not pass", "it did")
        raise ValueError(
            f"it says that the {run.step} on {run.subject} {said}; by its outcome, place, guard "
            f"and checks {found}"
        )


def _run(raw: dict[str, Any]) -> Run:
    values = {to_snake(key): value for key, value in raw.items()}
    facts = RunBase.model_validate(values)
    run = Run(id=str(raw["id"]), **facts.model_dump())
    run.origin = SHIPPED
    run.state = "done"
    run.pair = None
    return run
