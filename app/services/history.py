"""Where an entry stood in each release, and what happened to it on the way.

Scanned releases say it from their sources. A release that is not scanned here, but on which a run
raised the error, says it by that run: file, function and line of the frame that raised. For errors
that a library raises the runs are the only witness: their place is the innermost engine frame.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from packaging.version import InvalidVersion, Version
from sqlmodel import Session, col, select

from app.models import Change, Entry, Release, Run, Site
from app.services.records import HistoryStep
from app.services.resolve import all_ids


@dataclass(slots=True)
class Place:
    """Where an entry is in one release."""

    version: str
    file: str
    function: str
    line: int
    end_line: int
    status: str | None = None
    """What the scan found to have happened; None if it said nothing."""
    sites: int = 1
    site_id: str = ""
    entry_id: str = ""
    guards: list[dict[str, Any]] = field(default_factory=list)
    holes: list[dict[str, Any]] | None = None
    release: Release | None = None
    """The scanned release; None where only a run tells."""


class HasPlace(Protocol):
    """A site, or a place that was made of one."""

    @property
    def site_id(self) -> str: ...  # noqa: D102  # the names say it
    @property
    def file(self) -> str: ...  # noqa: D102  # same
    @property
    def function(self) -> str: ...  # noqa: D102  # same


SiteT = TypeVar("SiteT", bound=HasPlace)


@dataclass(frozen=True, slots=True)
class Life:
    """All that is known of where an entry was."""

    steps: list[HistoryStep]
    newest: Place | None
    """The place in the newest release that has it: what the page shows."""


def releases_of(db: Session, package: str) -> list[Release]:
    """The scanned releases of a package, oldest first."""
    wanted = select(Release).where(Release.package == package).order_by(col(Release.ordinal))
    return list(db.exec(wanted))


def life_of(db: Session, entry: Entry, runs: list[Run]) -> Life:
    """The history of an entry over scanned and executed releases, oldest first.

    Args:
        db: the open session.
        entry: whose history.
        runs: its finished runs, newest first.
    """
    releases = releases_of(db, entry.package)
    sites = _sites(db, entry)
    changes = _changes(db, entry)
    by_runs = _places_by_runs(entry, runs)
    scanned = {release.version: release for release in releases}
    raised_elsewhere = not sites and bool(by_runs)
    steps: list[HistoryStep] = []
    shown: Place | None = None
    versions = sorted({*scanned, *by_runs}, key=_version)
    for version in versions:
        release = scanned.get(version)
        here = sites.get((release.id or 0) if release else 0, [])
        if release is not None and here:
            place = _from_site(main_site(here, shown), release, len(here), changes)
        elif release is None or raised_elsewhere:
            found = by_runs.get(version)
            if version in by_runs and found is None:
                _gone(steps, version)
                continue
            if found is None:
                continue
            place = found
        else:
            _gone(steps, version)
            continue
        steps.append(_step(place, steps, shown, first=version == versions[0]))
        shown = place
    return Life(steps=steps, newest=shown)


def main_site(sites: Sequence[SiteT], known: HasPlace | None) -> SiteT:
    """The place a page shows: the one shown for the neighbouring release, if it is there."""
    if known is not None:
        for alike in (
            lambda s: (s.site_id, s.file),
            lambda s: (s.file, s.function),
            lambda s: s.function,
            lambda s: s.file,
        ):
            same = next((s for s in sites if alike(s) == alike(known)), None)
            if same is not None:
                return same
    return sites[0]


def _sites(db: Session, entry: Entry) -> dict[int, list[Site]]:
    """The places of an entry by release, older wordings included, in reading order."""
    wanted = select(Site).where(col(Site.entry_id).in_(all_ids(db, entry)))
    found: dict[int, list[Site]] = defaultdict(list)
    for site in db.exec(wanted.order_by(col(Site.file), col(Site.line))):
        found[site.release_id].append(site)
    return dict(found)


def _changes(db: Session, entry: Entry) -> dict[tuple[int, str], str]:
    rows = db.exec(select(Change).where(col(Change.entry_id).in_(all_ids(db, entry))))
    return {(row.release_id, row.entry_id): row.status for row in rows}


def _places_by_runs(entry: Entry, runs: list[Run]) -> dict[str, Place | None]:
    """By version: the place where the newest trigger raised it; None where it did not any more."""
    found: dict[str, Place | None] = {}
    for run in runs:
        package, _, version = run.subject.partition("==")
        if run.step != "trigger" or package != entry.package or version in found:
            continue
        if run.passed and run.site:
            line = int(run.site.get("line") or 0)
            found[version] = Place(
                version=version,
                file=str(run.site.get("file") or ""),
                function=str(run.site.get("function") or ""),
                line=line,
                end_line=line,
            )
        elif run.outcome == "returned":
            found[version] = None
    return found


def _from_site(
    site: Site, release: Release, count: int, changes: dict[tuple[int, str], str]
) -> Place:
    return Place(
        version=release.version,
        file=site.file,
        function=site.function,
        line=site.line,
        end_line=site.end_line,
        status=changes.get((site.release_id, site.entry_id)),
        sites=count,
        site_id=site.site_id,
        entry_id=site.entry_id,
        guards=site.guards,
        holes=site.holes,
        release=release,
    )


def _step(
    place: Place, steps: list[HistoryStep], before: Place | None, *, first: bool
) -> HistoryStep:
    status = place.status
    back = not steps or steps[-1].status == "gone"
    if status is None and back and not first:
        status = "new"  # in the oldest release it may be older than what was looked at
    elif status is None and before is not None:
        same = (before.file, before.function) == (place.file, place.function)
        status = "same" if same or place.release else "moved"
    return HistoryStep(
        version=place.version,
        status=status or "same",
        file=place.file,
        function=place.function,
        line=place.line,
        sites=place.sites,
    )


def _gone(steps: list[HistoryStep], version: str) -> None:
    if steps and steps[-1].status != "gone":
        steps.append(HistoryStep(version=version, status="gone", sites=0))


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
