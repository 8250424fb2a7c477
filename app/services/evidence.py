"""The runs behind an entry: the newest one for each release, device and step."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from packaging.version import InvalidVersion, Version
from sqlalchemy.orm import load_only
from sqlmodel import Session, col, or_, select

from app.models import Alias, Entry, Run
from app.runs.record import claims_hold
from app.services.resolve import all_ids

FORMER = ("reworded", "class-changed")
NEWEST_FIRST = (col(Run.started_at).desc(), col(Run.id))


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
        .order_by(*NEWEST_FIRST)
    )
    return list(db.exec(wanted))


class Shown(Protocol):
    """What of a run decides whether it is evidence."""

    @property
    def subject(self) -> str:
        """See `app.models.RunBase`, here and below."""

    @property
    def device(self) -> str:
        """Where tensors lived."""

    @property
    def step(self) -> str:
        """Trigger or fix."""

    @property
    def outcome(self) -> str | None:
        """How it ended."""

    @property
    def passed(self) -> bool:
        """It showed what its step is meant to show."""

    @property
    def claims(self) -> list[Any]:
        """What executing the page's code showed."""


R = TypeVar("R", bound=Shown)


def newest_runs(runs: Iterable[R]) -> list[R]:
    """The newest of each (subject, device, step), by release and step.

    A run that was skipped says nothing: it counts only where no other is.

    Args:
        runs: newest first.
    """
    newest: dict[tuple[str, str, str], R] = {}
    for run in runs:
        key = (run.subject, run.device, run.step)
        if key not in newest or (newest[key].outcome == "skipped" and run.outcome != "skipped"):
            newest[key] = run
    return sorted(
        newest.values(), key=lambda r: (*subject_order(r.subject), r.device, r.step != "trigger")
    )


def executed_on(runs: Iterable[Shown]) -> list[tuple[str, str]]:
    """On which (subject, device) an error was executed: *the* meaning of the word everywhere.

    The newest trigger and the newest fix on the very same subject and device passed, and everything
    that the page claims of its own code held in both.

    Args:
        runs: of one entry, newest first.

    Returns:
        In the order of releases.
    """
    good: dict[tuple[str, str], set[str]] = {}
    for run in newest_runs(runs):
        if run.passed and claims_hold(run.claims):
            good.setdefault((run.subject, run.device), set()).add(run.step)
    return [place for place, steps in good.items() if steps >= {"trigger", "fix"}]


def executed_ids(db: Session, ids: Iterable[str] | None = None) -> set[str]:
    """The entries that were executed on some subject; see `executed_on`.

    Args:
        db: the open session.
        ids: the entries in question; all if None.
    """
    wanted = None if ids is None else set(ids)
    owners: dict[str, str] = {}
    aliases = select(Alias.alias, Alias.entry_id).where(col(Alias.kind).in_(FORMER))
    slugs = select(Entry.slug, Entry.id).where(col(Entry.slug).is_not(None))
    if wanted is not None:
        aliases = aliases.where(col(Alias.entry_id).in_(wanted))
        slugs = slugs.where(col(Entry.id).in_(wanted))
        owners = {entry_id: entry_id for entry_id in wanted}
    owners |= dict(db.exec(aliases).all())
    named = {str(slug): entry_id for slug, entry_id in db.exec(slugs)}
    facts = (Run.entry_id, Run.slug, Run.subject, Run.device, Run.step, Run.outcome, Run.passed)
    columns = load_only(*map(col, facts), col(Run.claims))  # type: ignore[arg-type]  # SQLModel hides what its attributes are
    finished = select(Run).options(columns).where(Run.state == "done")
    if wanted is not None:
        finished = finished.where(or_(col(Run.entry_id).in_(owners), col(Run.slug).in_(named)))
    runs: dict[str, list[Run]] = {}
    for run in db.exec(finished.order_by(*NEWEST_FIRST)):
        default = run.entry_id if wanted is None else None
        for owner in {owners.get(run.entry_id, default), named.get(run.slug or "")} - {None}:
            runs.setdefault(str(owner), []).append(run)
    return {entry_id for entry_id, of_entry in runs.items() if executed_on(of_entry)}


def holding_claims(db: Session, slug: str | None = None) -> dict[str, set[str]]:
    """By slug the checks, claims and sections that held wherever a newest run recorded them.

    Args:
        db: the open session.
        slug: the one in question; all if None.
    """
    by_slug: dict[str, list[Run]] = {}
    finished = select(Run).where(col(Run.slug).is_not(None), Run.state == "done")
    if slug is not None:
        finished = finished.where(Run.slug == slug)
    for run in db.exec(finished.order_by(*NEWEST_FIRST)):
        by_slug.setdefault(str(run.slug), []).append(run)
    holding = {}
    for name, runs in by_slug.items():
        held: dict[str, bool] = {}
        for run in newest_runs(runs):
            for mark in (*run.claims, *run.checks):
                for said in {str(mark[key]) for key in ("id", "section") if mark.get(key)}:
                    held[said] = held.get(said, True) and run.passed and mark.get("ok") is True
        holding[name] = {said for said, ok in held.items() if ok}
    return holding


def subject_order(subject: str) -> tuple[int, str, Version]:
    """Sorts subjects: releases by package and version, then `reference`."""
    package, _, version = subject.partition("==")
    try:
        return (0, package, Version(version))
    except InvalidVersion:
        return (1, package, Version("0"))
