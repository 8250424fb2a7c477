"""What changed between any two scanned releases of a package, neighbours or not."""

from collections.abc import Iterable, Mapping

from sqlmodel import Session, col, select

from app.exceptions import BadInputError, CannotTellError
from app.models import Change, Entry, Public, Release, Site
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
    between = [r for r in releases if first.ordinal < r.ordinal <= last.ordinal]
    if first.ordinal > last.ordinal:
        raise BadInputError(
            f"{first.version} is newer than {last.version}; `from` is the older one of the two."
        )
    origin = _origins(db, new, between)
    rewritten = {i: was for i, was in origin.items() if was != i and was in old}
    gone = [i for i in old if i not in new and i not in rewritten.values()]
    fresh = [i for i in new if i not in old and i not in rewritten]
    moved = [i for i in new if i in old and i not in rewritten and _moved_away(old[i], new[i])]
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
            "same": len([i for i in new if i in old and i not in rewritten]) - len(moved),
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


def _moved_away(before: list[Site], after: list[Site]) -> bool:
    """None of its places is where it was."""
    places = {(site.file, site.function) for site in before}
    return not any((site.file, site.function) in places for site in after)


def _origins(db: Session, ids: Iterable[str], between: list[Release]) -> dict[str, str | None]:
    """What each entry of the newer release was called in the older one; None if it is new."""
    origin: dict[str, str | None] = {i: i for i in ids}
    for release in reversed(between):
        changes = {
            change.entry_id: change
            for change in db.exec(select(Change).where(Change.release_id == release.id))
        }
        for newest, name in origin.items():
            change = changes.get(name or "")
            if change is None:
                continue
            if change.status == "new":
                origin[newest] = None
            elif change.status in {"reworded", "classChanged"}:
                origin[newest] = change.previous_entry_id
    return origin


def _entries(db: Session, ids: list[str]) -> list[Entry]:
    wanted = select(Entry).where(col(Entry.id).in_(ids))
    return sorted(db.exec(wanted), key=_telling)[:SHOWN]


def _telling(entry: Entry) -> tuple[bool, bool, bool, str]:
    """Explained ones first; what has no words of its own, and what is only logged, last."""
    return (not entry.explained, not entry.template, entry.error_type == "log", entry.template)


def _pairs(
    db: Session, rewritten: Mapping[str, str | None], first: Release, last: Release
) -> list[Rewritten]:
    after = summaries(db, _entries(db, list(rewritten)), last)
    older = select(Entry).where(col(Entry.id).in_(list(rewritten.values())))
    before = {row.id: row for row in summaries(db, list(db.exec(older)), first)}
    return [
        Rewritten(before=before[was], after=row)
        for row in after
        if (was := rewritten[row.id]) in before
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
