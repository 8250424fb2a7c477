"""Where an entry stood in each scanned release, and what happened to it on the way."""

from collections import defaultdict

from sqlmodel import Session, col, select

from app.models import Change, Entry, Release, Site
from app.services.records import HistoryStep
from app.services.resolve import all_ids


def releases_of(db: Session, package: str) -> list[Release]:
    """The scanned releases of a package, oldest first."""
    wanted = select(Release).where(Release.package == package).order_by(col(Release.ordinal))
    return list(db.exec(wanted))


def entry_sites(db: Session, entry: Entry) -> dict[int, list[Site]]:
    """The places of an entry by release, older wordings included, in reading order."""
    wanted = (
        select(Site)
        .where(col(Site.entry_id).in_(all_ids(db, entry)))
        .order_by(col(Site.file), col(Site.line))
    )
    found: dict[int, list[Site]] = defaultdict(list)
    for site in db.exec(wanted):
        found[site.release_id].append(site)
    return dict(found)


def main_site(sites: list[Site], known: Site | None) -> Site:
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


def history_of(db: Session, entry: Entry, releases: list[Release]) -> list[HistoryStep]:
    """One step for each release from the first that has the entry to the last.

    Args:
        db: the open session.
        entry: whose history.
        releases: the scanned releases of its package, oldest first.
    """
    sites = entry_sites(db, entry)
    ids = all_ids(db, entry)
    rows = db.exec(select(Change).where(col(Change.entry_id).in_(ids)))
    changes = {(row.release_id, row.entry_id): row.status for row in rows}
    steps: list[HistoryStep] = []
    shown: Site | None = None
    for release in releases:
        here = sites.get(release.id or 0, [])
        if not here:
            if steps and steps[-1].status != "gone":
                steps.append(HistoryStep(version=release.version, status="gone", sites=0))
            continue
        shown = main_site(here, shown)
        status = changes.get((release.id or 0, shown.entry_id))
        if (
            status is None
            and release is not releases[0]
            and (not steps or steps[-1].status == "gone")
        ):
            status = "new"  # in the oldest scanned release it may be older than what was scanned
        steps.append(
            HistoryStep(
                version=release.version,
                status=status or "same",
                file=shown.file,
                function=shown.function,
                line=shown.line,
                sites=len(here),
            )
        )
    return steps
