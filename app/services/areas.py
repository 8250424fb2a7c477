"""Parts of a package: which file is in which, and how many errors each has in each release."""

from collections import Counter, defaultdict

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, func, select

from app.models import Site

TOP = "(top)"
"""Files right in the package's own folder."""
_DEPTH = 2
Heat = dict[int, Counter[str]]
"""Release id → area → number of errors."""


def area_of(file: str) -> str:
    """The part of a package a file belongs to: `srt/layers` of `sglang/srt/layers/x/y.py`."""
    folders = file.split("/")[1:-1]
    return "/".join(folders[:_DEPTH]) or TOP


def in_area(file: Mapped[str], package: str, area: str) -> list[ColumnElement[bool]]:
    """Conditions under which `area_of` of a file of the package is an area."""
    folder = package.replace("-", "_")
    if area == TOP:
        return [file.startswith(f"{folder}/", autoescape=True), ~file.like("%/%/%")]
    inside = file.startswith(f"{folder}/{area}/", autoescape=True)
    if area.count("/") + 1 >= _DEPTH:
        return [inside]
    return [inside, ~file.like("%" + "/%" * (area.count("/") + 3))]


def errors_by_area(db: Session, release_ids: list[int] | None = None) -> Heat:
    """How many different errors each area of each release has.

    Args:
        db: the open session.
        release_ids: which releases; all if None.
    """
    heat: Heat = defaultdict(Counter)
    wanted = select(Site.release_id, Site.file, func.count(col(Site.entry_id).distinct()))
    several = select(Site.release_id, Site.entry_id)
    if release_ids is not None:
        wanted = wanted.where(col(Site.release_id).in_(release_ids))
        several = several.where(col(Site.release_id).in_(release_ids))
    for release_id, file, count in db.exec(wanted.group_by(col(Site.release_id), col(Site.file))):
        heat[release_id][area_of(file)] += count
    # An error that several files of an area have was counted once for each of them.
    several = several.group_by(col(Site.release_id), col(Site.entry_id))
    often = several.having(func.count(col(Site.file).distinct()) > 1).subquery()
    rows = db.exec(
        select(Site.release_id, Site.entry_id, Site.file)
        .join(
            often,
            (col(Site.release_id) == often.c.release_id) & (col(Site.entry_id) == often.c.entry_id),
        )
        .distinct()
    )
    files: Counter[tuple[int, str, str]] = Counter()
    for release_id, entry_id, file in rows:
        files[release_id, entry_id, area_of(file)] += 1
    for (release_id, _, area), number in files.items():
        heat[release_id][area] -= number - 1
    return dict(heat)
