"""Which pages does a finished run concern? They are made anew, all others are kept.

A page that shows the runs of an error reads the names of that error: its id, the ids it had before,
its slug. A list, and the first page, tell of a run only whether its error was executed, how that
was found, and which claims held; they read one name, `LISTS`, which changes when one of these does.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from sqlmodel import Session, select

from app.db import touch_named, wait_for_writers
from app.loading.curated import current_id
from app.models import Entry, Run
from app.services.evidence import executed_ids, holding_claims
from app.services.resolve import all_ids

LISTS: Final = "lists"
"""What pages read that show rows or sums of many errors; no error has this id."""
LISTS_ONLY: Final = frozenset({LISTS})


def names_of(db: Session, entry: Entry) -> frozenset[str]:
    """What a page reads that shows the runs of an error (`app.services.evidence.runs_of`)."""
    return frozenset({*all_ids(db, entry), *([entry.slug] if entry.slug else [])})


@contextmanager
def renewing(db: Session, runs: Sequence[Run]) -> Iterator[None]:
    """Store finished runs inside, and have the pages that they concern made anew.

    Args:
        db: the open session; the caller commits.
        runs: what is stored inside; only their entries matter.
    """
    wait_for_writers(db)
    before = _told(db, runs)
    yield
    db.flush()
    names = {name for run in runs for name in (run.entry_id, run.slug) if name}
    touch_named(db, sorted(names if _told(db, runs) == before else {*names, LISTS}))


def _told(db: Session, runs: Sequence[Run]) -> list[object]:
    """What lists and the first page tell of the entries of some runs."""
    told: list[object] = []
    for entry_id, slug in sorted({(run.entry_id, run.slug or "") for run in runs}):
        owners = {current_id(db, entry_id), *db.exec(select(Entry.id).where(Entry.slug == slug))}
        found = select(Run.id).where(Run.entry_id == entry_id, Run.kind == "synthesized")
        synthesized = db.exec(found.limit(1)).first() is not None
        claims = holding_claims(db, slug) if slug else {}
        told.append((executed_ids(db, owners), claims, synthesized))
    return told
