"""What a run will be: the entry's reproducer, a subject that makes sense, and its waiting rows."""

from typing import Literal

from pydantic import BaseModel, ConfigDict
from sqlmodel import Session, func, select

from app.db import wait_for_writers
from app.exceptions import BadInputError, BusyError
from app.models import Entry, Run
from app.runs import new_run_id
from app.runs.subjects import REFERENCE, newest_subject, read_releases
from app.services.reproducers import ReproducerFile, find_reproducer
from app.services.run_worker import fail_forgotten
from app.services.synthesized import found_subject
from app.settings import Settings
from app.wheels import parse_release

MOST_WAITING = 12


class Wanted(BaseModel):
    """What somebody asks to be run."""

    model_config = ConfigDict(extra="forbid")

    step: Literal["trigger", "fix", "both"] = "both"
    subject: str = ""
    """`sglang==0.5.23` or `reference`; the newest release that has the error if empty."""
    device: Literal["cpu", "cuda"] = "cpu"


def queue_runs(db: Session, entry: Entry, wanted: Wanted, settings: Settings) -> list[Run]:
    """Store the waiting rows of one or two runs; the caller commits and has them executed.

    Raises:
        CannotTellError: the entry has no reproducer, and no trigger was found for it.
        BadInputError: the subject is none.
        BusyError: too many runs are waiting.
    """
    file = find_reproducer(entry.slug)
    if file is not None:
        subject, kind = checked_subject(entry, file, wanted.subject, settings), "handwritten"
    else:
        subject, kind = found_subject(db, entry, wanted.subject.strip(), settings), "synthesized"
    # Whoever else starts runs waits here until these are stored: counting is no race.
    wait_for_writers(db)
    waiting = _waiting(db)
    if waiting >= MOST_WAITING and fail_forgotten(db, settings):
        db.flush()
        waiting = _waiting(db)
    if waiting >= MOST_WAITING:
        raise BusyError(f"{waiting} runs are waiting already; try again in a minute.")
    steps = ("trigger", "fix") if wanted.step == "both" else (wanted.step,)
    rows = [
        Run(
            id=new_run_id(),
            entry_id=entry.id,
            slug=entry.slug,
            step=step,
            subject=subject,
            device=wanted.device,
            kind=kind,
            state="queued",
        )
        for step in steps
    ]
    for row, other in zip(rows, reversed(rows), strict=True):
        row.pair = other.id if other is not row else None
        db.add(row)
    return rows


def _waiting(db: Session) -> int:
    return db.exec(select(func.count()).select_from(Run).where(Run.state != "done")).one()


def checked_subject(entry: Entry, file: ReproducerFile, subject: str, settings: Settings) -> str:
    """A subject that the entry can run on; the newest release at hand if none is named.

    Raises:
        BadInputError: it is neither a release of the entry's package nor `reference`.
        NotFoundError: none was named, and no release of it is known here.
    """
    subject = subject.strip()
    if not subject:
        return newest_subject(file.releases, settings, reference=file.has_reference)
    if subject == REFERENCE:
        if not file.has_reference:
            raise BadInputError(f"{entry.slug} does not run on the reference, only on releases.")
        return subject
    package, version = parse_release(subject)
    allowed = read_releases(file.releases)[0] if file.releases else entry.package
    if package != allowed:
        raise BadInputError(f"{entry.slug} runs on releases of {allowed}, not of {package}.")
    return f"{package}=={version}"
