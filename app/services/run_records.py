"""Stored runs as they are shown: one run, and the one it was started together with."""

from sqlmodel import Session, col, select

from app.exceptions import NotFoundError
from app.models import Entry, Public, Run
from app.services.entry_page import differing
from app.services.records import RunNow, RunRecord
from app.services.run_line import place_in_line, said_place
from app.settings import Settings


class RunPage(Public):
    """What the page of a run shows."""

    run: RunRecord
    other: RunRecord | None
    """The run of the other step: started together with it, or shipped with it."""
    slug: str | None
    package: str | None
    error_class: str | None
    error_message: str | None
    command: str
    finished: bool
    """Neither of them is waiting or running."""
    place: str = ""
    """Where in the line the first of them stands that waits, in words."""

    @property
    def cards(self) -> list[RunRecord]:
        """Trigger first."""
        both = [self.run, *([self.other] if self.other else [])]
        return sorted(both, key=lambda run: run.step != "trigger")

    @property
    def differing(self) -> list[str]:
        """Names of the values that trigger and fix recorded differently."""
        if self.other is None:
            return []
        trigger, fix = self.cards
        return differing(trigger, fix)


def find_run(db: Session, run_id: str) -> Run:
    """A stored run.

    Raises:
        NotFoundError: there is none of this id.
    """
    run = db.get(Run, run_id)
    if run is None:
        raise NotFoundError(f"There is no run {run_id!r}.")
    return run


def run_now(db: Session, run_id: str, settings: Settings) -> RunNow:
    """A stored run, and where in the line it stands.

    Raises:
        NotFoundError: there is none of this id.
    """
    run = find_run(db, run_id)
    now = RunNow.model_validate(run)
    now.place = place_in_line(db, run, settings)
    return now


def run_page(db: Session, run_id: str, settings: Settings | None = None) -> RunPage:
    """The page of one run.

    Args:
        db: the open session.
        run_id: which run.
        settings: where it is said which process takes it; without them no place in the line is.

    Raises:
        NotFoundError: there is none of this id.
    """
    run = find_run(db, run_id)
    other = db.get(Run, run.pair) if run.pair else _shipped_other(db, run)
    entry = db.get(Entry, run.entry_id)
    key = run.slug or run.entry_id
    step = "both" if other else run.step
    return RunPage(
        run=RunRecord.model_validate(run),
        other=RunRecord.model_validate(other) if other else None,
        slug=key,
        package=entry.package if entry else None,
        error_class=entry.error_class if entry else None,
        error_message=entry.template if entry else None,
        command=f"reprobase run {key} --step {step} --on {run.subject}"
        + ("" if run.device == "cpu" else f" --device {run.device}"),
        finished=run.state == "done" and (other is None or other.state == "done"),
        place=said_place(place_in_line(db, run, settings)) if settings else "",
    )


def _shipped_other(db: Session, run: Run) -> Run | None:
    """The other step of a run that came with the catalog, which keeps no pairs."""
    if run.origin != "shipped":
        return None
    step = "fix" if run.step == "trigger" else "trigger"
    same = select(Run).where(
        Run.slug == run.slug, Run.subject == run.subject, Run.device == run.device
    )
    found = same.where(Run.step == step, Run.origin == run.origin)
    return db.exec(found.order_by(col(Run.started_at).desc())).first()
