"""The scanned releases: counts by area over time, and what changed in each."""

from collections import Counter, defaultdict
from datetime import datetime
from typing import Any

from packaging.version import Version
from sqlmodel import Session, col, func, select

from app.models import Change, Entry, Public, Release, ReleaseBase, Site
from app.services.areas import errors_by_area
from app.services.listing import find_release, summaries
from app.services.records import Summary
from app.services.telling import most_telling
from app.settings import Settings
from app.wheels import cached_versions

AREAS = 24
SHOWN = 40
CHANGES = ("new", "reworded", "classChanged", "moved", "gone")


class ReleaseRow(ReleaseBase, Public):
    """One scanned release and what changed in it."""

    changes: dict[str, int]


class Area(Public):
    """A part of a package and its number of errors in each release."""

    name: str
    counts: list[int]
    """In the order of the package's `versions`."""


class PackageReleases(Public):
    """The scanned releases of one package, oldest first, and its heat map."""

    package: str
    versions: list[str]
    areas: list[Area]
    releases: list[ReleaseRow]


class ReleaseList(Public):
    """What is scanned."""

    packages: list[PackageReleases]


class Changed(Public):
    """Entries that changed in one way."""

    status: str
    total: int
    records: list[Summary]
    """The most telling ones; the list of errors has all."""


class ReleasePage(Public):
    """One scanned release."""

    release: ReleaseRow
    previous: str | None
    next: str | None
    areas: list[tuple[str, int]]
    classes: list[tuple[str, int]]
    changed: list[Changed]
    scanned_at: datetime


def release_list(db: Session) -> ReleaseList:
    """All scanned releases, with the heat map of each package."""
    found: dict[str, list[Release]] = defaultdict(list)
    for release in db.exec(select(Release).order_by(Release.package, col(Release.ordinal))):
        found[release.package].append(release)
    changes = _change_counts(db)
    heat = errors_by_area(db)
    packages = []
    for package, releases in found.items():
        total: Counter[str] = Counter()
        for release in releases:
            total += heat.get(release.id or 0, Counter())
        areas = [
            Area(name=name, counts=[heat.get(r.id or 0, Counter())[name] for r in releases])
            for name, _ in total.most_common(AREAS)
        ]
        packages.append(
            PackageReleases(
                package=package,
                versions=[release.version for release in releases],
                areas=areas,
                releases=[_row(release, changes) for release in releases],
            )
        )
    return ReleaseList(packages=packages)


def release_page(db: Session, package: str, version: str) -> ReleasePage:
    """One release.

    Raises:
        NoSuchReleaseError: it is not in the catalog.
    """
    release = find_release(db, package, version)
    around = list(
        db.exec(select(Release).where(Release.package == package).order_by(col(Release.ordinal)))
    )
    at = next(i for i, r in enumerate(around) if r.id == release.id)
    number = func.count(col(Site.entry_id).distinct())
    classes = db.exec(
        select(Site.error_class, number)
        .where(Site.release_id == release.id)
        .group_by(Site.error_class)
        .order_by(number.desc(), col(Site.error_class))
        .limit(AREAS)
    )
    areas = errors_by_area(db, [release.id or 0]).get(release.id or 0, Counter())
    return ReleasePage(
        release=_row(release, _change_counts(db, release)),
        previous=around[at - 1].version if at else None,
        next=around[at + 1].version if at + 1 < len(around) else None,
        areas=areas.most_common(),
        classes=[(name, count) for name, count in classes],
        changed=[_changed(db, release, status) for status in CHANGES],
        scanned_at=release.scanned_at,
    )


def known_versions(db: Session, package: str, settings: Settings) -> list[str]:
    """Releases of a package that are scanned or whose wheel is at hand, newest first."""
    scanned = set(db.exec(select(Release.version).where(Release.package == package)))
    versions = sorted({*scanned, *cached_versions(package, settings)}, key=Version, reverse=True)
    return [f"{package}=={version}" for version in versions]


def newest_release(db: Session, package: str = "sglang") -> Release | None:
    """The newest scanned release of a package."""
    wanted = select(Release).where(Release.package == package)
    return db.exec(wanted.order_by(col(Release.ordinal).desc())).first()


def _changed(db: Session, release: Release, status: str) -> Changed:
    wanted = (
        select(Entry)
        .join(Change, col(Change.entry_id) == col(Entry.id))
        .where(Change.release_id == release.id, Change.status == status)
    )
    total = db.exec(
        select(func.count())
        .select_from(Change)
        .where(Change.release_id == release.id, Change.status == status)
    ).one()
    entries = list(db.exec(wanted.order_by(*most_telling()).limit(SHOWN)))
    rows = summaries(db, entries, None if status == "gone" else release)
    for row in rows:
        row.status = status
    return Changed(status=status, total=total, records=rows)


def _row(release: Release, changes: dict[int, dict[str, int]]) -> ReleaseRow:
    facts: dict[str, Any] = release.model_dump()
    return ReleaseRow(**facts, changes=changes.get(release.id or 0, {}))


def _change_counts(db: Session, release: Release | None = None) -> dict[int, dict[str, int]]:
    wanted = select(Change.release_id, Change.status, func.count()).group_by(
        col(Change.release_id), col(Change.status)
    )
    if release is not None:
        wanted = wanted.where(Change.release_id == release.id)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for release_id, status, count in db.exec(wanted):
        found[release_id][status] = count
    return dict(found)
