"""Failure classes across packages: what each is, and which errors are of it."""

from collections import defaultdict

from sqlmodel import Field, Session, col, func, select

from app.exceptions import NotFoundError
from app.models import Entry, Public, Release, Site
from app.services.family_files import families
from app.services.listing import summaries
from app.services.near import near_words
from app.services.records import Summary
from app.services.telling import most_telling

PER_PAGE = 50
EXAMPLES = 4
_ADVICE = "What usually fixes it"


class FamilyRow(Public):
    """One failure class and its size."""

    tag: str
    title: str
    summary: str
    total: int
    by_package: dict[str, int]
    trend: list[int] = Field(default_factory=list)
    """Errors in each scanned release of `FamilyList.trend_package`, oldest first."""


class FamilyList(Public):
    """All failure classes, the largest first."""

    families: list[FamilyRow]
    packages: list[str]
    trend_package: str | None = None
    """The package with the most scanned releases."""
    versions: list[str] = Field(default_factory=list)
    """Its scanned releases, oldest first."""


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


class FamilyInPackage(Public):
    """A failure class in one package: one of the small multiples."""

    package: str
    total: int
    versions: list[str]
    """Scanned releases, oldest first; empty for a package whose errors are only explained."""
    counts: list[int]
    """Errors of the class in each of them."""
    shares: list[float]
    """The same as a share of all errors of that release, 0 to 1."""
    examples: list[Summary]


class FamilyPage(Public):
    """One failure class."""

    tag: str
    title: str
    summary: str
    sections: list[FamilySection]
    near: list[FamilyRow]
    """Classes it is easily taken for."""
    by_package: dict[str, int]
    packages: list[FamilyInPackage]
    """The class side by side in every package that has it."""
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
    scanned = _scanned(db)
    if not scanned:
        return FamilyList(families=rows, packages=packages)
    package, releases = max(scanned.items(), key=lambda item: len(item[1]))
    found = _by_release(db, package)
    for row in rows:
        row.trend = [found.get((row.tag, release.id or 0), 0) for release in releases]
    versions = [release.version for release in releases]
    return FamilyList(families=rows, packages=packages, trend_package=package, versions=versions)


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
    wanted = wanted.order_by(*most_telling())
    entries = list(db.exec(wanted.offset((page - 1) * PER_PAGE).limit(PER_PAGE)))
    return FamilyPage(
        tag=tag,
        title=family.facts.title,
        summary=family.facts.summary,
        sections=[FamilySection(heading=h, text=t) for h, t in family.sections],
        near=[_row(other, counts) for other in family.facts.near],
        by_package=by_package,
        packages=_side_by_side(db, tag, by_package),
        total=total,
        page=page,
        pages=pages,
        records=summaries(db, entries),
    )


def _side_by_side(db: Session, tag: str, by_package: dict[str, int]) -> list[FamilyInPackage]:
    """The class in each package, the largest first."""
    scanned = _scanned(db)
    found = []
    for package, total in sorted(by_package.items(), key=lambda item: (-item[1], item[0])):
        releases = scanned.get(package, [])
        counted = _by_release(db, package, tag) if releases else {}
        counts = [counted.get((tag, release.id or 0), 0) for release in releases]
        telling = select(Entry).where(Entry.family == tag, Entry.package == package)
        telling = telling.order_by(*most_telling())
        found.append(
            FamilyInPackage(
                package=package,
                total=total,
                versions=[release.version for release in releases],
                counts=counts,
                shares=[n / max(r.entries, 1) for n, r in zip(counts, releases, strict=True)],
                examples=summaries(db, list(db.exec(telling.limit(EXAMPLES)))),
            )
        )
    return found


def _scanned(db: Session) -> dict[str, list[Release]]:
    """The scanned releases of each package, oldest first."""
    found: dict[str, list[Release]] = defaultdict(list)
    for release in db.exec(select(Release).order_by(Release.package, col(Release.ordinal))):
        found[release.package].append(release)
    return dict(found)


def _by_release(db: Session, package: str, tag: str | None = None) -> dict[tuple[str, int], int]:
    """(Family, release id) → errors of a package; of one family if it is named."""
    wanted = (
        select(Entry.family, Site.release_id, func.count(col(Entry.id).distinct()))
        .join(Site, col(Site.entry_id) == col(Entry.id))
        .where(Entry.package == package, col(Entry.family).is_not(None))
        .group_by(col(Entry.family), col(Site.release_id))
    )
    if tag is not None:
        wanted = wanted.where(Entry.family == tag)
    return {(str(family), release_id): n for family, release_id, n in db.exec(wanted)}


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
