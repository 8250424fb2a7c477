"""What changed between any two scanned releases of a package, neighbours or not."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import sqlalchemy
from sqlmodel import Session, col, select

from app.exceptions import BadInputError, CannotTellError, NotFoundError
from app.models import Change, Entry, Public, Release, Site
from app.services.history import main_site, releases_of
from app.services.listing import find_release, summaries
from app.services.records import Summary
from app.services.telling import telling_rank

SHOWN = 60
LISTED = ("new", "gone", "moved", "reworded")
BATCH = 5_000


class Spot(NamedTuple):
    """A place in one release."""

    file: str
    function: str
    line: int
    site_id: str


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
    status: str = ""
    """The one kind that is listed; all if empty."""
    page: int = 1
    pages: int = 1
    """Of that kind."""


def release_diff(
    db: Session, package: str, older: str = "", newer: str = "", *, status: str = "", page: int = 1
) -> ReleaseDiff:
    """Compare two releases; the newest two where none is named.

    Args:
        db: the open session.
        package: whose releases.
        older: version of the older one.
        newer: version of the newer one.
        status: list only this kind (new, gone, moved, reworded), page by page.
        page: which page of it, from 1.

    Raises:
        NoSuchReleaseError: one of them is not in the catalog.
        CannotTellError: fewer than two releases are scanned and none was named.
        BadInputError: a status that is none, a page below 1, releases the wrong way round.
        NotFoundError: the page is behind the last one.
    """
    if status and status not in LISTED:
        raise BadInputError(f"status is {status!r}; it takes {', '.join(LISTED)}.")
    if page < 1 or (page > 1 and not status):
        raise BadInputError(f"page is {page}; pages go from 1, of one status.")
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
    origin, on_the_way = _origins(db, new, between)
    rewritten = {i: was for i, was in origin.items() if was != i and was in old}
    older_words = set(rewritten.values())
    gone = [i for i in old if i not in new and i not in older_words]
    fresh = [i for i in new if i not in old and i not in rewritten]
    moved = [i for i in new if i in old and i in on_the_way and i not in rewritten]
    kinds: dict[str, list[str]] = {
        "new": fresh, "gone": gone, "reworded": list(rewritten), "moved": moved,
    }  # fmt: skip
    counts = {name: len(ids) for name, ids in kinds.items()}
    both = sum(1 for i in new if i in old and i not in rewritten)
    pages = max(1, -(-counts[status] // SHOWN)) if status else 1
    if page > pages:
        raise NotFoundError(f"There is no page {page:,}: this list has {pages:,}.")

    def listed(kind: str) -> list[Entry]:
        return _entries(db, kinds[kind], page) if status in ("", kind) else []

    return ReleaseDiff(
        package=package,
        older=first.version,
        newer=last.version,
        versions=[release.version for release in releases],
        counts={**counts, "same": both - len(moved)},
        new=summaries(db, listed("new"), last),
        gone=summaries(db, listed("gone"), first),
        reworded=_pairs(db, listed("reworded"), rewritten, first, last),
        moved=_moved(listed("moved"), old, new),
        status=status,
        page=page,
        pages=pages,
    )


def batched(ids: Iterable[str], size: int) -> Iterator[list[str]]:
    """Some ids at a time: a database takes only so many in one question."""
    left = iter(ids)
    while batch := list(islice(left, size)):
        yield batch


def _before(releases: list[Release], last: Release) -> Release:
    earlier = [release for release in releases if release.ordinal < last.ordinal]
    return earlier[-1] if earlier else releases[0]


def _sites(db: Session, release: Release) -> dict[str, list[Spot]]:
    """The places of each entry in reading order; rows, because there are tens of thousands."""
    found: dict[str, list[Spot]] = {}
    columns = (Site.entry_id, Site.file, Site.function, Site.line, Site.site_id)
    wanted = sqlalchemy.select(*map(col, columns))
    wanted = wanted.where(col(Site.release_id) == release.id)
    for row in db.execute(wanted.order_by(col(Site.file), col(Site.line))):
        found.setdefault(row[0], []).append(Spot(*row[1:]))
    return found


def _origins(
    db: Session, ids: Iterable[str], between: list[Release]
) -> tuple[dict[str, str | None], set[str]]:
    """What each entry of the newer release was called in the older one, and which moved.

    An entry that is new has no older name. Scans found these changes between neighbours; here they
    are followed backwards from the newer release.
    """
    origin: dict[str, str | None] = {i: i for i in ids}
    moved: set[str] = set()
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
            elif change.status == "moved":
                moved.add(newest)
            elif change.status in {"reworded", "classChanged"}:
                origin[newest] = change.previous_entry_id
    return origin, moved


def _entries(db: Session, ids: Iterable[str], page: int = 1) -> list[Entry]:
    """The entries of some ids that a page shows, the most telling ones first."""
    columns = (Entry.template, Entry.error_type, Entry.id, Entry.explained)
    rows: list[tuple[bool, int, str, str]] = []
    for batch in batched(ids, BATCH):
        found = db.execute(sqlalchemy.select(*map(col, columns)).where(col(Entry.id).in_(batch)))
        rows += [telling_rank(*words, explained=known) for *words, known in found]
    shown = [row[-1] for row in sorted(rows)[(page - 1) * SHOWN : page * SHOWN]]
    entries = {e.id: e for e in db.exec(select(Entry).where(col(Entry.id).in_(shown)))}
    return [entries[i] for i in shown]


def _pairs(
    db: Session,
    entries: list[Entry],
    rewritten: Mapping[str, str | None],
    first: Release,
    last: Release,
) -> list[Rewritten]:
    after = summaries(db, entries, last)
    older = select(Entry).where(col(Entry.id).in_([rewritten[row.id] for row in after]))
    before = {row.id: row for row in summaries(db, list(db.exec(older)), first)}
    return [
        Rewritten(before=before[was], after=row)
        for row in after
        if (was := rewritten[row.id]) in before
    ]


def _moved(
    entries: list[Entry], old: dict[str, list[Spot]], new: dict[str, list[Spot]]
) -> list[Moved]:
    rows = []
    for entry in entries:
        there = old[entry.id][0]
        here = main_site(new[entry.id], there)
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
