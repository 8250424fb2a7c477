"""The runs behind an entry: the newest one for each release, device and step."""

from collections.abc import Iterable

from packaging.version import InvalidVersion, Version
from sqlmodel import Session, col, or_, select

from app.models import Entry, Run
from app.services.records import RunRecord
from app.services.resolve import all_ids


def runs_of(db: Session, entry: Entry) -> list[Run]:
    """All finished runs of an entry, newest first."""
    wanted = (
        select(Run)
        .where(
            or_(
                col(Run.entry_id).in_(all_ids(db, entry)),
                *([Run.slug == entry.slug] if entry.slug else []),
            ),
            Run.state == "done",
        )
        .order_by(col(Run.started_at).desc(), col(Run.id))
    )
    return list(db.exec(wanted))


def newest_runs(runs: list[RunRecord]) -> list[RunRecord]:
    """The newest of each (subject, device, step), by release and step; `runs` newest first."""
    newest: dict[tuple[str, str, str], RunRecord] = {}
    for run in runs:
        newest.setdefault((run.subject, run.device, run.step), run)
    return sorted(
        newest.values(), key=lambda r: (*subject_order(r.subject), r.device, r.step != "trigger")
    )


def verified_ids(db: Session, ids: Iterable[str]) -> set[str]:
    """Those of some entries for which a trigger and a fix have passed."""
    passed = select(Run.entry_id, Run.step).where(
        col(Run.entry_id).in_(list(ids)), col(Run.passed), Run.state == "done"
    )
    steps: dict[str, set[str]] = {}
    for entry_id, step in db.exec(passed):
        steps.setdefault(entry_id, set()).add(step)
    return {entry_id for entry_id, done in steps.items() if done >= {"trigger", "fix"}}


def subject_order(subject: str) -> tuple[int, str, Version]:
    """Sorts subjects: releases by package and version, then `reference`."""
    package, _, version = subject.partition("==")
    try:
        return (0, package, Version(version))
    except InvalidVersion:
        return (1, package, Version("0"))
