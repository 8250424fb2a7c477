"""Loads `data/errors/*.md`: each file becomes an explained entry, before any release is scanned.

Loading is all or nothing and can be repeated: what a file no longer says is gone from the database.
An explanation whose wording a later scan found reworded stays with the entry it became.
"""

import hashlib
import re
from pathlib import Path

from sqlalchemy import delete, exists, update
from sqlmodel import Session, col, select

from app.db import to_be_loaded, touch, write_meta
from app.exceptions import BadInputError
from app.knowledge.entry_file import EntryFile, read_entry_file
from app.models import Alias, Entry, Explanation, Site
from app.scanner.identity import entry_id
from app.scanner.templates import parse, pattern
from app.settings import DATA_DIR

ERRORS_DIR = DATA_DIR / "errors"
_HEX_ID = re.compile(r"[0-9a-f]{16}")
_CURATED_ALIASES = ("published", "slug")


def load_curated(db: Session, folder: Path = ERRORS_DIR, *, force: bool = False) -> int:
    """Bring the explained entries up to date with the files.

    Args:
        db: the open session; the caller commits.
        folder: where the entry files lie.
        force: load even if no file has changed since the last time.

    Returns:
        How many entry files there are.

    Raises:
        BadFileError: a file breaks its format; nothing is changed.
        BadInputError: two files describe one error, or claim the same alias.
    """
    paths = sorted(folder.glob("*.md"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    digest = hashlib.sha256("\0".join([*(p.name for p in paths), *texts]).encode()).hexdigest()
    if not to_be_loaded(db, "curated", digest, force=force):
        return len(paths)
    files = [read_entry_file(path, text) for path, text in zip(paths, texts, strict=True)]
    _check_unique(files)
    _forget(db)
    became = dict(db.exec(select(Alias.alias, Alias.entry_id)).all())
    for file in files:
        _store(db, file, _follow(became, curated_id(file)))
    db.flush()
    _drop_orphans(db)
    write_meta(db, "curated", digest)
    touch(db)
    return len(files)


def curated_id(file: EntryFile) -> str:
    """The computed id of the entry a file describes."""
    facts = file.facts
    return entry_id(facts.package, facts.error_class, facts.message, condition=facts.condition)


def current_id(db: Session, wanted: str) -> str:
    """The id an entry has today, where its words or class were changed by later releases."""
    seen = {wanted}
    while True:
        alias = db.get(Alias, wanted)
        if alias is None or alias.entry_id in seen:
            return wanted
        wanted = alias.entry_id
        seen.add(wanted)


def _check_unique(files: list[EntryFile]) -> None:
    owner: dict[str, str] = {}
    for file in files:
        for name in (file.slug, curated_id(file), *file.facts.aliases):
            if name in owner:
                raise BadInputError(
                    f"data/errors/{file.slug}.md and data/errors/{owner[name]}.md both claim "
                    f"{name!r}; an error has one file, an alias one owner."
                )
            owner[name] = file.slug


def _forget(db: Session) -> None:
    db.execute(delete(Explanation))
    db.execute(delete(Alias).where(col(Alias.kind).in_(_CURATED_ALIASES)))
    db.execute(update(Entry).where(col(Entry.explained)).values(explained=False, slug=None))
    db.flush()
    db.expire_all()


def _follow(became: dict[str, str], wanted: str) -> str:
    """`current_id` over aliases that were read already."""
    seen = {wanted}
    while (newer := became.get(wanted)) is not None and newer not in seen:
        wanted = newer
        seen.add(newer)
    return wanted


def _store(db: Session, file: EntryFile, current: str) -> None:
    facts = file.facts
    entry = db.get(Entry, current) or Entry(
        id=current,
        package=facts.package,
        error_class=facts.error_class,
        error_type=facts.error_type,
        template=facts.message,
        condition=facts.condition,
        pattern=_pattern(file),
    )
    entry.slug = file.slug
    entry.explained = True
    entry.severity = facts.severity
    entry.error_type = facts.error_type
    entry.family = facts.family or entry.family
    entry.http_status = facts.http_status or entry.http_status
    if facts.match:
        entry.pattern = facts.match
    db.add(entry)
    db.add(Explanation(slug=file.slug, entry_id=current, content=file.model_dump(mode="json")))
    for alias in facts.aliases:
        kind = "published" if _HEX_ID.fullmatch(alias) else "slug"
        db.merge(Alias(alias=alias, entry_id=current, kind=kind))


def _drop_orphans(db: Session) -> None:
    """Entries that no file explains any more and no release has."""
    has_site = exists().where(col(Site.entry_id) == col(Entry.id))
    orphans = select(col(Entry.id)).where(~col(Entry.explained), ~has_site)
    gone = list(db.scalars(orphans))
    if gone:
        db.execute(delete(Entry).where(col(Entry.id).in_(gone)))


def _pattern(file: EntryFile) -> str:
    """The regex of an entry's message: the file's own, or the one its template makes."""
    if file.facts.match or not file.facts.message:
        return file.facts.match or ""
    try:
        return pattern(parse(file.facts.message))
    except ValueError as e:
        raise BadInputError(
            f"data/errors/{file.slug}.md: the message is no template: {e}. "
            "A brace that belongs to the message is doubled."
        ) from e
