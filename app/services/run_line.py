"""Where in the line does a waiting run stand?

Runs that were started together are one job, and the worker process that took them executes jobs in
the order in which they came, `app.services.run_worker.AT_ONCE` at a time. The first in line is
next.
"""

from sqlmodel import Session, col, select

from app.models import Run
from app.services.run_events import owner_of
from app.settings import Settings

_TEENS = range(10, 20)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def place_in_line(db: Session, run: Run, settings: Settings) -> int | None:
    """Which in the line a run is, from 1; 0 if it follows its other half; None if it runs or ran.

    Args:
        db: the open session.
        run: the run in question.
        settings: where it is said which process takes a run.
    """
    if run.state != "queued":
        return None
    other = db.get(Run, run.pair) if run.pair else None
    if other is not None and other.state == "running":
        return 0
    queued = list(
        db.exec(select(Run).where(Run.state == "queued").order_by(col(Run.started_at), Run.id))
    )
    running = set(db.exec(select(Run.id).where(Run.state == "running")))
    mine = owner_of(settings, run.id)
    before: set[frozenset[str]] = set()
    me = frozenset({run.id, run.pair or run.id})
    for one in queued:
        job = frozenset({one.id, one.pair or one.id})
        if job == me:
            break
        if not job & running and (mine is None or owner_of(settings, one.id) in (mine, None)):
            before.add(job)
    return len(before) + 1


def said_place(place: int | None) -> str:
    """A place in the line in words; empty for None."""
    if place is None:
        return ""
    if place == 0:
        return "follows the run before it"
    ending = "th" if place % 100 in _TEENS else _ENDINGS.get(place % 10, "th")
    return f"{place}{ending} in line"
