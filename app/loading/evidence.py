"""Loads `data/evidence/*.jsonl`: the runs that are shipped with the project.

They stand beside the runs that were made here and are marked `shipped`. Loading is all or nothing
and can be repeated; a run that is no longer in a file is gone, a run made here is never touched.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_snake
from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.db import read_meta, touch, write_meta
from app.exceptions import BadInputError
from app.models import Explanation, Run, RunBase
from app.settings import DATA_DIR

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
        BadInputError: a line is not a run record; names file and line. Nothing is changed.
    """
    paths = sorted(folder.glob("*.jsonl"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    owners = {e.slug: e.entry_id for e in db.exec(select(Explanation))}
    state = "\0".join([*(p.name for p in paths), *texts, *map(str, sorted(owners.items()))])
    digest = hashlib.sha256(state.encode()).hexdigest()
    if not force and read_meta(db, "evidence") == digest:
        return sum(text.count("\n") for text in texts)
    runs = [run for path, text in zip(paths, texts, strict=True) for run in _runs(path, text)]
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


def _runs(path: Path, text: str) -> Iterator[Run]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            yield _run(raw)
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as e:
            said = str(e).splitlines()[0]
            raise BadInputError(f"{path}:{number} is not a run record: {said}") from e


def _run(raw: dict[str, Any]) -> Run:
    values = {to_snake(key): value for key, value in raw.items()}
    facts = RunBase.model_validate(values)
    run = Run(id=str(raw["id"]), **facts.model_dump())
    run.origin = SHIPPED
    run.state = "done"
    run.pair = None
    return run
