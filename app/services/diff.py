"""What changed between any two scanned releases of a package, neighbours or not."""

from sqlmodel import Session, col, select

from app.exceptions import CannotTellError
from app.loading.curated import current_id
from app.models import Entry, Public, Release, Site
from app.services.history import main_site, releases_of
from app.services.listing import find_release, summaries
from app.services.records import Summary

SHOWN = 200


class Moved(Public):
    """An entry that is in both releases, at another place."""

    id: str
    slug: str | None = None
    error_class: str
    error_message: str
    before: str
    """`file:line` in the older one."""
    after: str


class Rewritten(Public):
    """An entry whose words or class were changed."""

    before: Summary
    after: Summary


class ReleaseDiff(Public):
    """The difference of two releases."""

    package: str
    older: str
    newer: str
    versions: list[str]
    """All scanned releases, oldest first, to choose from."""
    counts: dict[str, int]
    """new, gone, moved, reworded, same."""
    new: list[Summary]
    gone: list[Summary]
    reworded: list[Rewritten]
    moved: list[Moved]
    shown: int = SHOWN
    """How many of each kind are listed at most; `counts` are exact."""


def release_diff(db: Session, package: str, older: str = "", newer: str = "") -> ReleaseDiff:
    """Compare two releases; the newest two where none is named.

    Raises:
        NoSuchReleaseError: one of them is not in the catalog.
        CannotTellError: fewer than two releases are scanned and none was named.
    """
    releases = releases_of(db, package)
    if (not older or not newer) and len(releases) < 2:  # noqa: PLR2004  # a pair
        known = ", ".join(r.version for r in releases) or "none"
        raise CannotTellError(
            f"A difference needs two scanned releases of {package}; scanned: {known}. "
            f"`reprobase scan {package}==VERSION` adds one."
        )
    last = find_release(db, package, newer) if newer else releases[-1]
    first = find_release(db, package, older) if older else _before(releases, last)
    old, new = _sites(db, first), _sites(db, last)
    rewritten = _rewritten(db, [i for i in old if i not in new], new.keys() - old.keys())
    gone = [i for i in old if i not in new and i not in rewritten]
    fresh = [i for i in new if i not in old and i not in rewritten.values()]
    moved = [i for i in new if i in old and _place(old[i]) != _place(new[i])]
    return ReleaseDiff(
        package=package,
        older=first.version,
        newer=last.version,
        versions=[release.version for release in releases],
        counts={
            "new": len(fresh),
            "gone": len(gone),
            "reworded": len(rewritten),
            "moved": len(moved),
            "same": len(old.keys() & new.keys()) - len(moved),
        },
        new=summaries(db, _entries(db, fresh), last),
        gone=summaries(db, _entries(db, gone), first),
        reworded=_pairs(db, rewritten, first, last),
        moved=_moved(db, moved, old, new),
    )


def _before(releases: list[Release], last: Release) -> Release:
    earlier = [release for release in releases if release.ordinal < last.ordinal]
    return earlier[-1] if earlier else releases[0]


def _sites(db: Session, release: Release) -> dict[str, list[Site]]:
    found: dict[str, list[Site]] = {}
    wanted = select(Site).where(Site.release_id == release.id)
    for site in db.exec(wanted.order_by(col(Site.file), col(Site.line))):
        found.setdefault(site.entry_id, []).append(site)
    return found


def _place(sites: list[Site]) -> tuple[str, str]:
    return (sites[0].file, sites[0].function)


def _rewritten(db: Session, gone: list[str], fresh: set[str]) -> dict[str, str]:
    """Ids that were replaced by another id: older → newer."""
    pairs = {old: current_id(db, old) for old in gone}
    return {old: new for old, new in pairs.items() if new != old and new in fresh}


def _entries(db: Session, ids: list[str]) -> list[Entry]:
    wanted = select(Entry).where(col(Entry.id).in_(ids))
    return sorted(db.exec(wanted), key=lambda e: (not e.explained, e.template))[:SHOWN]


def _pairs(
    db: Session, rewritten: dict[str, str], first: Release, last: Release
) -> list[Rewritten]:
    before = {s.id: s for s in summaries(db, _entries(db, list(rewritten)), first)}
    wanted = [rewritten[old] for old in before]
    after = {s.id: s for s in summaries(db, _entries(db, wanted), last)}
    return [
        Rewritten(before=before[old], after=after[rewritten[old]])
        for old in before
        if rewritten[old] in after
    ]


def _moved(
    db: Session, ids: list[str], old: dict[str, list[Site]], new: dict[str, list[Site]]
) -> list[Moved]:
    rows = []
    for entry in _entries(db, ids):
        here = main_site(new[entry.id], old[entry.id][0])
        there = old[entry.id][0]
        rows.append(
            Moved(
                id=entry.id,
                slug=entry.slug,
                error_class=entry.error_class,
                error_message=entry.template,
                before=f"{there.file}:{there.line}",
                after=f"{here.file}:{here.line}",
            )
        )
    return rows
