"""By what can the list be narrowed: packages, releases, classes, families, with their numbers."""

from typing import Any

from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, func, select

from app.models import Entry, Public, Release

TOP = 30


class Facet(Public):
    """One value of a filter and how many entries have it."""

    value: str
    count: int


class Facets(Public):
    """The values that the list's filters offer."""

    packages: list[Facet]
    classes: list[Facet]
    families: list[Facet]
    releases: list[str]
    """`package==version`, newest first."""


def facets_of(db: Session) -> Facets:
    """The filters' values, the most frequent first."""
    releases = db.exec(select(Release).order_by(Release.package, col(Release.ordinal).desc()))
    return Facets(
        packages=_count(db, col(Entry.package)),
        classes=_count(db, col(Entry.error_class)),
        families=_count(db, col(Entry.family)),
        releases=[f"{r.package}=={r.version}" for r in releases],
    )


def _count(db: Session, column: Mapped[Any]) -> list[Facet]:
    number = func.count()
    rows = db.exec(
        select(column, number)
        .where(column.is_not(None))
        .group_by(column)
        .order_by(number.desc(), column)
        .limit(TOP)
    )
    return [Facet(value=value, count=count) for value, count in rows]
