"""Which other entries are worth a look: up to five, the same ones on every machine.

Curated ones come first, in the order of the entry file. Then entries raised in the same function,
entries whose guard or message speaks of the same variable, and entries of the same family nearby
(same file, then same folder); see `app.services.relating`. Everything is computed for the whole
catalog in one go and kept, in memory and in the index folder, until the catalog changes.
"""

import json
import logging
import re
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import sqlalchemy
from sqlmodel import Session, col, func, select

from app.models import Alias, Entry, Explanation, Release, Site
from app.scanner.families import deciding_guards
from app.scanner.guards import Guard
from app.search import catalog_version
from app.search.pasted import Templates, shape_of
from app.services.records import Related
from app.services.relating import Relation, Stand, relate, variables_of
from app.settings import Settings, load_settings

log = logging.getLogger(__name__)

_FORMAT: Final = 1
"""Changes with everything that makes kept relations differ from computed ones."""
_PREFIX: Final = "related-"
_lock = threading.Lock()
_known: dict[str, dict[str, list[Relation]]] = {}


def related_of(
    db: Session, entry_id: str, settings: Settings | None = None, *, old: bool = False
) -> list[Related]:
    """The related entries of one entry, best first; empty if nothing is near it.

    Args:
        db: the open session.
        entry_id: which entry.
        settings: where relations are kept; the environment's if None.
        old: those of an older state of the catalog will do, or none: nothing is computed.
    """
    kept = _older(settings or load_settings()) if old else all_related(db, settings)
    found = kept.get(entry_id, [])
    ids = [relation.id for relation in found]
    entries = {e.id: e for e in db.exec(select(Entry).where(col(Entry.id).in_(ids)))}
    return [
        Related(
            id=relation.id,
            slug=entries[relation.id].slug,
            error_class=entries[relation.id].error_class,
            error_message=entries[relation.id].template,
            why=relation.why,
        )
        for relation in found
        if relation.id in entries
    ]


def all_related(db: Session, settings: Settings | None = None) -> dict[str, list[Relation]]:
    """The relations of all entries of the catalog as it is now."""
    settings = settings or load_settings()
    version = catalog_version(db)
    with _lock:
        found = _known.get(version)
        if found is None:
            path = _path(settings, version)
            found = _load(path)
            if found is None:
                found = relate(read_stands(db), read_curated(db))
                _store(path, found)
            _known.clear()
            _known[version] = found
        return found


def are_related(db: Session, settings: Settings) -> bool:
    """Whether the relations of the catalog as it is now are at hand."""
    version = catalog_version(db)
    return version in _known or _path(settings, version).is_file()


def _older(settings: Settings) -> dict[str, list[Relation]]:
    """The relations of the last state of the catalog that is known; nothing if none is."""
    with _lock:
        for path in settings.index_dir.glob(f"{_PREFIX}{_FORMAT}-*.json"):
            version = path.stem.rpartition("-")[2]
            found = _known.get(version) or _load(path)
            if found is not None:
                _known.clear()
                _known[version] = found
                return found
        return {}


def _path(settings: Settings, version: str) -> Path:
    return settings.index_dir / f"{_PREFIX}{_FORMAT}-{version}.json"


def _load(path: Path) -> dict[str, list[Relation]] | None:
    """The relations in a file, None if there is none that can be used."""
    try:
        reasons, rows = json.loads(path.read_text(encoding="utf-8"))
        return {
            i: [Relation(other, reasons[why]) for other, why in near] for i, near in rows.items()
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, IndexError, AttributeError) as e:
        log.warning("%s is damaged (%s); making it anew.", path, e)
        return None


def _store(path: Path, found: dict[str, list[Relation]]) -> None:
    """Keep the relations in a file that appears by one rename; older ones go."""
    reasons: dict[str, int] = {}
    rows = {
        entry_id: [(r.id, reasons.setdefault(r.why, len(reasons))) for r in near]
        for entry_id, near in found.items()
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix="building-", delete=False
        ) as file:
            json.dump([list(reasons), rows], file)
        Path(file.name).replace(path)
        for old in path.parent.glob(f"{_PREFIX}*.json"):
            if old != path:
                old.unlink(missing_ok=True)
    except OSError as e:
        log.warning("The related entries cannot be kept in %s (%s).", path.parent, e)


def read_stands(db: Session) -> list[Stand]:
    """The newest place of each entry."""
    newest = (
        select(Site.entry_id, func.max(Release.ordinal).label("ordinal"))
        .join(Release)
        .group_by(Site.entry_id)
        .subquery()
    )
    wanted = (
        sqlalchemy.select(
            col(Site.entry_id), col(Entry.package), col(Entry.family), col(Site.file),
            col(Site.function), col(Site.line), col(Site.kind), col(Site.guards), col(Site.holes),
            col(Site.template),
        )
        .join(Release, col(Release.id) == col(Site.release_id))
        .join(Entry, col(Entry.id) == col(Site.entry_id))
        .join(
            newest,
            (newest.c.entry_id == col(Site.entry_id)) & (newest.c.ordinal == col(Release.ordinal)),
        )
        .order_by(col(Site.file), col(Site.line))
    )  # fmt: skip
    stands: dict[str, Stand] = {}
    for row in db.execute(wanted):
        entry_id, package, family, file, function, line, kind, guards, holes, template = row
        if entry_id in stands:
            continue
        texts = deciding_guards((Guard(g["text"], g["kind"], g["line"]) for g in guards), kind)
        spoken = [*texts[-1:], *(str(hole["expr"]) for hole in holes)]
        stands[entry_id] = Stand(
            entry_id,
            package,
            family or "",
            file,
            function,
            line,
            variables_of(spoken),
            worded=bool(template),
        )
    return list(stands.values())


def read_curated(db: Session) -> dict[str, list[str]]:
    """Entry id → ids of the entries that its file names, by slug, id or literal message."""
    wanted = {
        row.entry_id: [str(name) for name in row.content.get("facts", {}).get("related", [])]
        for row in db.exec(select(Explanation))
    }
    if not any(wanted.values()):
        return {}
    known = {alias.alias: alias.entry_id for alias in db.exec(select(Alias))}
    entries = list(db.exec(select(Entry.id, Entry.slug, Entry.template)))
    for entry_id, slug, _ in entries:
        known[entry_id] = entry_id
        if slug:
            known[slug] = entry_id
    messages = _Messages([(entry_id, template) for entry_id, _, template in entries])
    found = {}
    for entry_id, names in wanted.items():
        ids = (known.get(name) or messages.find(name) for name in names)
        found[entry_id] = list(dict.fromkeys(i for i in ids if i and i != entry_id))
    return found


class _Messages:
    """Finds an entry by what it says: in full, in part, or with its holes written differently."""

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        self._rows = sorted((_words(template), entry_id) for entry_id, template in rows)
        shapes = (shape_of(entry_id, template) for entry_id, template in rows)
        self._templates = Templates(shape for shape in shapes if shape is not None)

    def find(self, message: str) -> str | None:
        """The entry of a message, None if there is none."""
        wanted = _words(message)
        if not wanted:
            return None
        starts = (entry_id for words, entry_id in self._rows if words.startswith(wanted))
        return next(starts, None) or next(iter(self._templates.matching(message)), None)


def _words(message: str) -> str:
    """A message without its holes and its punctuation at the end."""
    return " ".join(re.sub(r"\{[^{}]*\}", "{}", message).split()).rstrip(" .…").lower()
