"""Failure classes across packages: what each is, and which errors are of it."""

from collections import defaultdict

from sqlmodel import Session, col, func, select

from app.exceptions import NotFoundError
from app.models import Entry, Public
from app.services.family_files import families
from app.services.listing import summaries
from app.services.near import near_words
from app.services.records import Summary

PER_PAGE = 50
_ADVICE = "What usually fixes it"


class FamilyRow(Public):
    """One failure class and its size."""

    tag: str
    title: str
    summary: str
    total: int
    by_package: dict[str, int]


class FamilyList(Public):
    """All failure classes, the largest first."""

    families: list[FamilyRow]
    packages: list[str]


class FamilySection(Public):
    """A piece of a family's text."""

    heading: str
    text: str
    """Markdown."""


class FamilyAdvice(Public):
    """General advice against a failure class."""

    title: str
    text: str
    """Markdown."""


class FamilyPage(Public):
    """One failure class."""

    tag: str
    title: str
    summary: str
    sections: list[FamilySection]
    near: list[FamilyRow]
    """Classes it is easily taken for."""
    by_package: dict[str, int]
    total: int
    page: int
    pages: int
    records: list[Summary]


def family_advice(tag: str | None) -> FamilyAdvice | None:
    """What usually fixes errors of a family; None for no family, or one that says nothing."""
    family = families().get(tag or "")
    if family is None:
        return None
    text = next((t for heading, t in family.sections if heading == _ADVICE), None)
    return FamilyAdvice(title=family.facts.title, text=text) if text else None


def family_list(db: Session) -> FamilyList:
    """All failure classes with how many errors of each package are in them."""
    counts = _counts(db)
    rows = [_row(tag, counts) for tag in families()]
    rows.sort(key=lambda row: (-row.total, row.title))
    packages = sorted({package for by in counts.values() for package in by})
    return FamilyList(families=rows, packages=packages)


def family_page(db: Session, tag: str, *, page: int = 1) -> FamilyPage:
    """One failure class.

    Raises:
        NotFoundError: there is none of this tag or page; `near` lists tags spelt like it.
    """
    known = families()
    if tag not in known:
        raise NotFoundError(f"There is no family {tag!r}.", near=near_words(tag, known))
    family = known[tag]
    counts = _counts(db)
    by_package = counts.get(tag, {})
    total = sum(by_package.values())
    pages = max(1, -(-total // PER_PAGE))
    if not 1 <= page <= pages:
        has = "1 page" if pages == 1 else f"{pages:,} pages"
        raise NotFoundError(f"There is no page {page:,}: this list has {has}.")
    wanted = select(Entry).where(Entry.family == tag)
    wanted = wanted.order_by(col(Entry.explained).desc(), col(Entry.package), col(Entry.template))
    entries = list(db.exec(wanted.offset((page - 1) * PER_PAGE).limit(PER_PAGE)))
    return FamilyPage(
        tag=tag,
        title=family.facts.title,
        summary=family.facts.summary,
        sections=[FamilySection(heading=h, text=t) for h, t in family.sections],
        near=[_row(other, counts) for other in family.facts.near],
        by_package=by_package,
        total=total,
        page=page,
        pages=pages,
        records=summaries(db, entries),
    )


def _row(tag: str, counts: dict[str, dict[str, int]]) -> FamilyRow:
    facts = families()[tag].facts
    by_package = counts.get(tag, {})
    return FamilyRow(
        tag=tag,
        title=facts.title,
        summary=facts.summary,
        total=sum(by_package.values()),
        by_package=by_package,
    )


def _counts(db: Session) -> dict[str, dict[str, int]]:
    rows = db.exec(
        select(Entry.family, Entry.package, func.count())
        .where(col(Entry.family).is_not(None))
        .group_by(col(Entry.family), col(Entry.package))
    )
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for family, package, count in rows:
        if family:
            found[family][package] = count
    return dict(found)
