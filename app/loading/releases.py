"""Stores a scanned release: its sites, entries, and what changed against its neighbours.

All or nothing: everything happens in the caller's transaction, so that a process killed in the
middle leaves the database as it was. The order in which releases are loaded does not matter:
changes are computed between neighbours in version order, and a release put in between has its
neighbours' changes computed anew. An entry shows the wording of the newest release that has it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from sqlalchemy import delete, func, insert, select, text
from sqlmodel import Session, SQLModel

from app.db import touch
from app.exceptions import NotFoundError
from app.loading.aliases import renew_aliases
from app.loading.neighbours import compare_sides, neighbours, scanned_side, stored_side
from app.loading.wording import batches, renew_wordings, store_entries
from app.models import utc_now
from app.scanner.history import EntryChange
from app.scanner.records import ScannedRelease, ScannedSite
from app.scanner.release import ordinal, scanner_digest

_release = SQLModel.metadata.tables["release"]
_entry = SQLModel.metadata.tables["entry"]
_site = SQLModel.metadata.tables["site"]
_change = SQLModel.metadata.tables["change"]
_SITE_COLUMNS: Final = {
    "entry_id": "entry_id",
    "site_id": "site_id",
    "kind": "kind",
    "error_class": "error_class",
    "template": "template",
    "holes_json": "holes",
    "condition": "condition",
    "form": "form",
    "http_status": "http_status",
    "file": "file",
    "function": "function",
    "line": "line",
    "end_line": "end_line",
    "guards_json": "guards",
}
"""Attribute of a scanned site → column."""
_ROWS: Final = 5_000
STATUSES: Final = ("new", "moved", "reworded", "classChanged", "gone")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading a release did."""

    release_id: int
    previous: str | None
    """Version of the scanned release before it; no changes are counted without one."""
    changes: Mapping[str, int]
    """How many entries are new, moved, reworded, classChanged or gone."""


def load_release(db: Session, scanned: ScannedRelease) -> Loaded:
    """Store a release, in place of an older scan of it.

    Args:
        db: an open session; the caller commits, or rolls everything back.
        scanned: what `scan_wheel` gave.
    """
    order = ordinal(scanned.version)
    _lock(db, scanned.package)
    release_id = _store_release(db, scanned, order)
    store_entries(db, scanned, order)
    _store_sites(db, release_id, scanned.sites)
    db.flush()
    before, after = neighbours(db, scanned.package, order)
    ours = scanned_side(scanned.sites)
    changes: list[EntryChange] = []
    if before is not None:
        changes = compare_sides(stored_side(db, before.id), ours)
        _store_changes(db, release_id, changes)
    if after is not None:
        _store_changes(db, after.id, compare_sides(ours, stored_side(db, after.id)))
    renew_aliases(db, scanned.package)
    touch(db)
    counts = Counter(c.status for c in changes)
    return Loaded(
        release_id,
        before.version if before else None,
        {status: counts[status] for status in STATUSES},
    )


def remove_release(db: Session, package: str, version: str) -> None:
    """Take a release out of the catalog; entries that no other release has go with it.

    Args:
        db: an open session; the caller commits.
        package: canonical name.
        version: as it was scanned.

    Raises:
        NotFoundError: it is not in the catalog.
    """
    _lock(db, package)
    release = db.execute(
        select(_release.c.id, _release.c.ordinal).where(
            _release.c.package == package, _release.c.version == version
        )
    ).one_or_none()
    if release is None:
        known = db.execute(
            select(_release.c.version).where(_release.c.package == package)
        ).scalars()
        raise NotFoundError(
            f"{package}=={version} is not in the catalog.", near=[f"{package}=={v}" for v in known]
        )
    before, after = neighbours(db, package, release.ordinal)
    _delete_release(db, release.id)
    if after is not None:
        changes = (
            compare_sides(stored_side(db, before.id), stored_side(db, after.id)) if before else []
        )
        _store_changes(db, after.id, changes)
    _drop_orphans(db, package)
    renew_wordings(db, package)
    renew_aliases(db, package)
    touch(db)


def _lock(db: Session, package: str) -> None:
    """Let no other scan of the package write until this transaction ends."""
    if db.get_bind().dialect.name == "postgresql":
        db.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": package})
    else:
        db.execute(delete(_release).where(_release.c.id == -1))  # takes SQLite's only write lock


def _store_release(db: Session, scanned: ScannedRelease, order: int) -> int:
    old = db.execute(
        select(_release.c.id).where(
            _release.c.package == scanned.package, _release.c.version == scanned.version
        )
    ).scalar_one_or_none()
    if old is not None:
        _delete_release(db, old)
    values = {
        "package": scanned.package,
        "version": scanned.version,
        "ordinal": order,
        "sha256": scanned.sha256,
        "wheel": scanned.wheel,
        "license": scanned.license,
        "files": scanned.files,
        "unparsed": scanned.unparsed,
        "sites": len(scanned.sites),
        "templates": scanned.templates,
        "native": scanned.native,
        "unrecoverable": scanned.unrecoverable,
        "reraised": scanned.reraised,
        "entries": scanned.entries,
        "seconds": scanned.seconds,
        "scanner": scanner_digest(),
        "scanned_at": utc_now(),
    }
    result = db.execute(insert(_release).values(**values).returning(_release.c.id))
    return int(result.scalar_one())


def _delete_release(db: Session, release_id: int | None) -> None:
    db.execute(delete(_change).where(_change.c.release_id == release_id))
    db.execute(delete(_site).where(_site.c.release_id == release_id))
    db.execute(delete(_release).where(_release.c.id == release_id))


def _store_sites(db: Session, release_id: int, sites: Sequence[ScannedSite]) -> None:
    """Insert all sites; past SQLAlchemy's types, since holes and guards are JSON text already."""
    connection = db.connection()
    quote = connection.dialect.identifier_preparer.quote
    mark = "%s" if connection.dialect.paramstyle in ("format", "pyformat") else "?"
    columns = ", ".join(map(quote, ("release_id", *_SITE_COLUMNS.values())))
    marks = ", ".join([mark] * (1 + len(_SITE_COLUMNS)))
    statement = f"INSERT INTO site ({columns}) VALUES ({marks})"  # noqa: S608  # our own names
    row = attrgetter(*_SITE_COLUMNS)
    for at in range(0, len(sites), _ROWS):
        rows = [(release_id, *row(s)) for s in sites[at : at + _ROWS]]
        connection.exec_driver_sql(statement, rows)


def _store_changes(db: Session, release_id: int, changes: Iterable[EntryChange]) -> None:
    db.execute(delete(_change).where(_change.c.release_id == release_id))
    rows = (
        {
            "release_id": release_id,
            "entry_id": c.entry_id,
            "status": c.status,
            "previous_entry_id": c.previous,
            "replaced": c.replaced,
        }
        for c in changes
    )
    for batch in batches(rows):
        db.execute(insert(_change), batch)


def _drop_orphans(db: Session, package: str) -> None:
    """Entries that no release has and nobody explained."""
    used = select(func.count()).where(_site.c.entry_id == _entry.c.id).scalar_subquery()
    db.execute(
        delete(_entry)
        .where(_entry.c.package == package, _entry.c.explained.is_(False), used == 0)
        .execution_options(synchronize_session=False)
    )
