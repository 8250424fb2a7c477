"""The neighbours of a release in the catalog, and the comparison with them.

Of a stored release only the places are read; its words only where an entry did not stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select
from sqlmodel import Session, SQLModel

import app.models  # noqa: F401  # declares the tables
from app.scanner.finish import nearest
from app.scanner.guards import Guard
from app.scanner.history import EntryChange, Place, Telling, Words, compare
from app.scanner.records import ScannedSite
from app.scanner.templates import skeleton

_release = SQLModel.metadata.tables["release"]
_site = SQLModel.metadata.tables["site"]
_PARAMETERS: Final = 5_000
"""SQLite takes 32,766 in a statement, PostgreSQL 65,535."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A scanned release beside another."""

    id: int
    version: str


def neighbours(db: Session, package: str, order: int) -> tuple[Neighbour | None, Neighbour | None]:
    """The scanned releases right before and right after one."""
    columns = select(_release.c.id, _release.c.version).where(_release.c.package == package)
    before = db.execute(
        columns.where(_release.c.ordinal < order).order_by(_release.c.ordinal.desc()).limit(1)
    ).first()
    after = db.execute(
        columns.where(_release.c.ordinal > order).order_by(_release.c.ordinal).limit(1)
    ).first()
    return (
        Neighbour(before.id, before.version) if before else None,
        Neighbour(after.id, after.version) if after else None,
    )


@dataclass(frozen=True, slots=True)
class Side:
    """One of two releases that are compared."""

    places: list[Place]
    words: Telling


def compare_sides(old: Side, new: Side) -> list[EntryChange]:
    """What changed from one to the other, see `app.scanner.history.compare`."""
    return compare(old.places, new.places, old.words, new.words)


def scanned_side(sites: Sequence[ScannedSite]) -> Side:
    """A release that was just scanned, as `compare_sides` takes it."""
    return Side(
        [Place(s.entry_id, s.file, s.function, s.line, i) for i, s in enumerate(sites)],
        lambda refs: {i: _words(sites[i]) for i in refs},
    )


def _words(site: ScannedSite) -> Words:
    return Words(site.error_class, site.condition or site.words, not site.condition, site.nearest)


def stored_side(db: Session, release_id: int) -> Side:
    """A release in the database, as `compare` takes it."""
    rows = db.execute(
        select(_site.c.entry_id, _site.c.file, _site.c.function, _site.c.line, _site.c.id).where(
            _site.c.release_id == release_id
        )
    )
    return Side([Place(*row) for row in rows], lambda refs: _stored_words(db, refs))


def _stored_words(db: Session, refs: Sequence[int]) -> dict[int, Words]:
    found = {}
    for at in range(0, len(refs), _PARAMETERS):
        rows = db.execute(
            select(
                _site.c.id,
                _site.c.kind,
                _site.c.error_class,
                _site.c.template,
                _site.c.condition,
                _site.c.guards,
            ).where(_site.c.id.in_(refs[at : at + _PARAMETERS]))
        )
        for row in rows:
            guards = [Guard(**g) for g in row.guards]
            words = row.condition or skeleton(row.template)
            found[row.id] = Words(
                row.error_class, words, not row.condition, nearest(row.kind, guards)
            )
    return found
