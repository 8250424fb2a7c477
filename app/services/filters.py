"""Are the values of a list's filters such as the catalog has? A misspelt one is told."""

from collections.abc import Iterable, Sequence

from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from app.exceptions import BadInputError
from app.models import Entry, Release
from app.scanner.packages import known_packages
from app.services.family_files import families
from app.services.near import near_words

_LONGEST = 60


class UnknownValueError(BadInputError):
    """A filter has a value that nothing has; `near` lists what may have been meant."""

    title = "No such value"

    def __init__(self, message: str, near: Iterable[str]) -> None:
        super().__init__(message)
        self.near = tuple(near)


def check_word(name: str, value: str, known: Sequence[str]) -> None:
    """Let only words of a fixed list pass, or none.

    Raises:
        BadInputError: it is none of them; names a near one.
    """
    if value and value not in known:
        near = near_words(value, known)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise BadInputError(f"{name} is {value!r}; it takes {', '.join(known)}.{meant}")


def check_filters(
    db: Session, *, package: str = "", error_class: str = "", family: str = ""
) -> None:
    """Let only values pass that an entry, a scanned release or a family file has.

    Raises:
        UnknownValueError: nothing has it; names near ones.
    """
    if package and not _has(db, col(Entry.package), package):
        scanned = set(db.exec(select(Release.package).distinct()))
        known = scanned | set(db.exec(select(Entry.package).distinct())) | set(known_packages())
        _check("package", package, known)
    if family and family not in families():
        known = {*families(), *(f for f in db.exec(select(Entry.family).distinct()) if f)}
        _check("family", family, known)
    if error_class and not _has(db, col(Entry.error_class), error_class):
        _check("class", error_class, set(db.exec(select(Entry.error_class).distinct())))


def unknown_value(name: str, value: str, known: Iterable[str]) -> UnknownValueError:
    """The error for a value that is none of the known ones."""
    known = sorted(known)
    near = near_words(value, known)
    if not near and "-" not in value:
        near = [k for k in known if k.lower() == value.lower()]
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    said = f"{name} is {shown!r}; nothing in the catalog has it."
    if near:
        said += f" Near: {', '.join(near)}."
    return UnknownValueError(said, near)


def _check(name: str, value: str, known: set[str]) -> None:
    if value not in known:
        raise unknown_value(name, value, known)


def _has(db: Session, column: Mapped[str], value: str) -> bool:
    return db.exec(select(Entry.id).where(column == value).limit(1)).first() is not None
