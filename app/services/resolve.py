"""Which entry does a key mean: its id, its slug, an older id, an older slug?"""

from dataclasses import dataclass

from sqlmodel import Session, col, or_, select

from app.exceptions import NotFoundError
from app.loading.curated import current_id
from app.models import Alias, Entry
from app.services.near import NEAR, near_words


@dataclass(frozen=True, slots=True)
class Resolved:
    """An entry that a key stands for."""

    entry: Entry
    canonical: str
    """What its address ends in: the slug where it has one, else the id."""
    moved: bool
    """The key is an alias, or written in capitals: answer with a permanent redirect."""


def resolve(db: Session, key: str) -> Resolved:
    """Find the entry of a key.

    Raises:
        NotFoundError: nothing has this id or slug; `near` holds what may have been meant.
    """
    given = key.strip()
    key = given.lower()
    current = current_id(db, key)
    entry = db.get(Entry, current)
    if entry is None:
        entry = db.exec(select(Entry).where(Entry.slug == key)).first()
    if entry is None:
        near = near_keys(db, key)
        hint = "" if near else " `reprobase search WORDS` finds entries."
        raise NotFoundError(f"There is no error with the id or slug {key!r}.{hint}", near=near)
    moved = given not in {current, entry.slug}
    return Resolved(entry, entry.slug or entry.id, moved)


def near_keys(db: Session, key: str) -> list[str]:
    """Slugs and aliases spelt like a key, best first; ids that share its first digits."""
    slugs = [
        slug for slug in db.exec(select(Entry.slug).where(col(Entry.slug).is_not(None))) if slug
    ]
    aliases = list(db.exec(select(Alias.alias)))
    near = near_words(key, [*slugs, *aliases])
    if len(near) < NEAR and len(key) >= 4 and not set(key) - set("0123456789abcdef"):  # noqa: PLR2004  # fewer digits say nothing
        starts = select(Entry.id).where(col(Entry.id).startswith(key[:4])).limit(NEAR)
        near += [found for found in db.exec(starts) if found not in near]
    return near[:NEAR]


def all_ids(db: Session, entry: Entry) -> list[str]:
    """The entry's id and the ids it had before its words or class changed."""
    older = select(Alias.alias).where(
        Alias.entry_id == entry.id, or_(*(Alias.kind == k for k in ("reworded", "class-changed")))
    )
    return [entry.id, *db.exec(older)]
