"""Which errors are there: filters, pages, and an opaque cursor for programs."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, func
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from app.exceptions import BadInputError, NoSuchReleaseError, NotFoundError
from app.models import Alias, Change, Entry, Explanation, Release, Site
from app.search import Filters, search
from app.search.filters import CHANGES
from app.search.store import older
from app.services.areas import in_area
from app.services.cursors import MOST, read_cursor, write_cursor
from app.services.entries import dataset_version
from app.services.evidence import executed_ids
from app.services.filters import check_filters, check_word
from app.services.found_reasons import EVIDENCE, evidence_ids, reason_for, reasons_of
from app.services.indexing import deferred
from app.services.records import Summary, SummaryPage
from app.services.sources import repository_file
from app.services.telling import most_telling
from app.settings import Settings, load_settings
from app.wheels import parse_release

PAGE_SIZE = 50
MAX_LIMIT = 200
MOST_SEARCHED = 1_000_000
"""The catalog has fewer entries; the search makes room for as many hits as are skipped."""
_MOST_WORDS = 20
STATUSES = ("new", "same", "moved", "reworded", "classChanged", "gone", "explained", "executed")


class ListQuery(BaseModel):
    """What was asked for; all filters hold at once."""

    model_config = ConfigDict(populate_by_name=True, extra="forbid")

    q: str = ""
    package: str = ""
    release: str = ""
    """A version of `package`, or `package==version`."""
    error_class: str = Field(default="", alias="class")
    family: str = ""
    status: str = ""
    """What happened in the release, or `explained`, or `executed`."""
    evidence: str = ""
    """What shows it, or why nothing does; see `app.services.found_reasons.EVIDENCE`."""
    area: str = ""
    """A part of the package as the heat map of releases names it: `srt/layers`."""

    page: int = Field(default=1, le=MOST)

    def filters(self) -> dict[str, str]:
        """The filters that are set, by their names in an address."""
        named = {
            "q": self.q, "package": self.package, "release": self.release,
            "class": self.error_class, "family": self.family, "status": self.status,
            "evidence": self.evidence, "area": self.area,
        }  # fmt: skip
        return {key: value for key, value in named.items() if value}


def list_errors(
    db: Session,
    query: ListQuery,
    *,
    limit: int = PAGE_SIZE,
    cursor: str | None = None,
    settings: Settings | None = None,
) -> SummaryPage:
    """One page of the list.

    Args:
        db: the open session.
        query: the filters, and the number of the page, from 1.
        limit: rows a page, 1 to 200.
        cursor: where the page before ended; wins over the page's number.
        settings: where the search index lies; the environment's if None.

    Raises:
        BadInputError: a limit, cursor, page or filter that cannot be.
        NotFoundError: the page is behind the last one.
        NoSuchReleaseError: the release is not in the catalog.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise BadInputError(f"limit is {limit}; it goes from 1 to {MAX_LIMIT}.")
    if query.page < 1:
        raise BadInputError(f"page is {query.page}; the first page is 1.")
    check_word("status", query.status, STATUSES)
    check_word("evidence", query.evidence, EVIDENCE)
    check_filters(db, package=query.package, error_class=query.error_class, family=query.family)
    filters = query.filters()
    offset = (query.page - 1) * limit if cursor is None else read_cursor(cursor, filters)
    release = _release(db, query)
    if query.q.strip():
        offset = min(offset, MOST_SEARCHED)
        rows, total = _searched(db, query, release, limit=limit, offset=offset, settings=settings)
    elif query.status in CHANGES and release is None:
        rows, total = [], 0
    else:
        conditions = _conditions(db, query, release)
        total = db.exec(select(func.count()).select_from(Entry).where(*conditions)).one()
        rows = list(db.exec(_ordered(conditions).offset(offset).limit(limit)))
    if cursor is None and query.page > 1 and not rows:
        pages = max(1, -(-total // limit))
        has = "1 page" if pages == 1 else f"{pages:,} pages"
        raise NotFoundError(f"There is no page {query.page:,}: this list has {has}.")
    more = rows and offset + len(rows) < total
    return SummaryPage(
        records=summaries(db, rows, None if query.status == "gone" else release),
        next=write_cursor(offset + len(rows), filters) if more else None,
        total=total,
        dataset_version=dataset_version(db),
    )


def _release(db: Session, query: ListQuery) -> Release | None:
    """The release that was asked for; the newest one where only a change in it was."""
    if query.release:
        return find_release(db, query.package, query.release)
    if query.status not in CHANGES:
        return None
    newest = select(Release).where(Release.package == (query.package or "sglang"))
    return db.exec(newest.order_by(col(Release.ordinal).desc())).first()


def _searched(
    db: Session,
    query: ListQuery,
    release: Release | None,
    *,
    limit: int,
    offset: int,
    settings: Settings | None,
) -> tuple[list[Entry], int]:
    """The best matches of some words or of a pasted message."""
    only = sorted(executed_ids(db)) if query.status == "executed" else None
    if query.area:
        here = set(db.exec(select(Entry.id).where(_in_area(query, release))))
        only = sorted(here if only is None else here & set(only))
    if query.evidence:
        shown, inside = evidence_ids(db, query.evidence)
        among = set(db.exec(select(Entry.id))) if only is None else set(only)
        only = sorted(among & shown if inside else among - shown)
    filters = Filters(
        package=query.package,
        release=f"{release.package}=={release.version}" if release else "",
        error_class=query.error_class,
        family=query.family,
        status="" if query.status == "executed" else query.status,
        ids=only,
    )
    settings = settings or load_settings()
    if deferred(db, settings):
        index = None if release else older(settings)
        if index is None:  # none yet, or none that knows the release
            return _by_words(db, query, release, limit=limit, offset=offset)
        found = index.search(query.q, filters, limit=limit, offset=offset)
    else:
        found = search(db, query.q, filters, limit=limit, offset=offset, settings=settings)
    ids = [hit.id for hit in found.hits]
    entries = {e.id: e for e in db.exec(select(Entry).where(col(Entry.id).in_(ids)))}
    return [entries[i] for i in ids if i in entries], found.total


def _by_words(
    db: Session, query: ListQuery, release: Release | None, *, limit: int, offset: int
) -> tuple[list[Entry], int]:
    """Entries whose message holds every word: what there is until an index is made."""
    conditions = _conditions(db, query, release)
    for word in query.q.lower().split()[:_MOST_WORDS]:
        conditions.append(func.lower(col(Entry.template)).contains(word, autoescape=True))
    total = db.exec(select(func.count()).select_from(Entry).where(*conditions)).one()
    return list(db.exec(_ordered(conditions).offset(offset).limit(limit))), total


def find_release(db: Session, package: str, wanted: str) -> Release:
    """A scanned release by `version` or `package==version`.

    Raises:
        NoSuchReleaseError: it is not in the catalog; `near` lists what is.
    """
    named, _, version = wanted.rpartition("==")
    package = named or package
    where = [Release.version == version, *([Release.package == package] if package else [])]
    found = db.exec(select(Release).where(*where)).first()
    if found is None:
        known = db.exec(select(Release).order_by(col(Release.ordinal).desc()))
        near = [f"{r.package}=={r.version}" for r in known if not package or r.package == package]
        listed = f" Scanned are: {', '.join(near)}." if near else " No release is scanned yet."
        shown = f"{package}=={version}" if package else version
        adds = f" `reprobase scan {shown}` adds it." if _can_be_scanned(shown) else ""
        raise NoSuchReleaseError(f"The catalog has no release {shown!r}.{listed}{adds}", near=near)
    return found


def _can_be_scanned(release: str) -> bool:
    """Whether it is written as a release is; one that is not need not be tried."""
    try:
        parse_release(release)
    except BadInputError:
        return False
    return True


def summaries(db: Session, entries: list[Entry], release: Release | None = None) -> list[Summary]:
    """Rows for some entries, in their order, each with its place in one release or the newest."""
    ids = [entry.id for entry in entries]
    places = _places(db, ids, release)
    verified = executed_ids(db, ids)
    reasons = reasons_of(db)
    titles = {
        slug: str(content.get("title", ""))
        for slug, content in db.exec(
            select(Explanation.slug, Explanation.content).where(
                col(Explanation.slug).in_([e.slug for e in entries if e.slug])
            )
        )
    }
    statuses: dict[str, str] = {}
    if release is not None:
        changes = select(Change).where(
            Change.release_id == release.id, col(Change.entry_id).in_(ids)
        )
        statuses = {change.entry_id: change.status for change in db.exec(changes)}
    rows = []
    for entry in entries:
        site, version = places.get(entry.id, (None, None))
        rows.append(
            Summary(
                id=entry.id,
                slug=entry.slug,
                package=entry.package,
                error_class=entry.error_class,
                error_type=entry.error_type,
                error_message=entry.template,
                condition=entry.condition,
                severity=entry.severity,
                background_tag=entry.family,
                explained=entry.explained,
                title=titles.get(entry.slug or ""),
                file_path=repository_file(entry.package, site.file) if site else None,
                function=site.function if site else None,
                line_number=site.line if site else None,
                release=version,
                status=statuses.get(entry.id, "same" if site and release else None),
                verified=entry.id in verified,
                no_evidence=None if entry.id in verified else reason_for(entry.id, reasons),
            )
        )
    return rows


def _places(db: Session, ids: list[str], release: Release | None) -> dict[str, tuple[Site, str]]:
    wanted = (
        select(Site, Release.version)
        .join(Release)
        .where(col(Site.entry_id).in_(ids))
        .order_by(col(Release.ordinal), col(Site.file).desc(), col(Site.line).desc())
    )
    if release is not None:
        wanted = wanted.where(Site.release_id == release.id)
    return {site.entry_id: (site, version) for site, version in db.exec(wanted)}


def _conditions(
    db: Session, query: ListQuery, release: Release | None
) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if query.package:
        found.append(col(Entry.package) == query.package)
    if query.error_class:
        found.append(col(Entry.error_class) == query.error_class)
    if query.family:
        found.append(col(Entry.family) == query.family)
    if query.status == "explained":
        found.append(and_(col(Entry.explained)))
    if query.status == "executed":
        found.append(col(Entry.id).in_(_written("executed_ids", executed_ids(db))))
    if query.evidence:
        ids, inside = evidence_ids(db, query.evidence)
        listed = _written("evidence_ids", ids)
        found.append(col(Entry.id).in_(listed) if inside else col(Entry.id).not_in(listed))
    if query.area:
        found.append(_in_area(query, release))
    if release is not None:
        changed = query.status in CHANGES
        found.append(_changed(query.status, release) if changed else _in_release(release))
    else:
        found.append(current())
    return found


def _written(name: str, ids: Iterable[str]) -> BindParameter[Sequence[str]]:
    """Ids as text of the query: there are more of them than a database takes parameters."""
    return bindparam(name, sorted(ids), expanding=True, literal_execute=True)


def _in_release(release: Release) -> ColumnElement[bool]:
    here = select(Site.id).where(Site.entry_id == Entry.id, Site.release_id == release.id)
    return here.exists()


def _in_area(query: ListQuery, release: Release | None) -> ColumnElement[bool]:
    """A place of the entry is in a part of the package; see `app.services.areas.area_of`."""
    package = release.package if release else query.package or "sglang"
    here = select(Site.id).where(
        Site.entry_id == Entry.id, *in_area(col(Site.file), package, query.area)
    )
    if release is not None:
        here = here.where(Site.release_id == release.id)
    return here.exists()


def current() -> ColumnElement[bool]:
    """The entry did not become another one by a rewording or a change of class."""
    became = select(Alias.alias).where(
        Alias.alias == Entry.id, col(Alias.kind).in_(("reworded", "class-changed"))
    )
    return ~became.exists()


def _changed(status: str, release: Release) -> ColumnElement[bool]:
    changed = select(Change.entry_id).where(
        Change.entry_id == Entry.id, Change.release_id == release.id
    )
    if status == "same":
        return _in_release(release) & ~changed.exists()
    return changed.where(Change.status == status).exists()


def _ordered(conditions: list[ColumnElement[bool]]) -> SelectOfScalar[Entry]:
    return select(Entry).where(*conditions).order_by(*most_telling())
