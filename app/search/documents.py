"""What of an entry can be searched: one plain document each, read from the database in bulk."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, select

from app.models import Alias, Change, Entry, Explanation, Release, Site
from app.search.filters import marks_of

_MAX_TEXT = 40_000
_SUCCESSORS = ("reworded", "class-changed")


@dataclass(slots=True)
class Document:
    """One entry as the index sees it."""

    id: str
    package: str
    error_class: str
    messages: list[str]
    """Every wording it has had, the newest first."""
    family: str = ""
    slug: str = ""
    explained: bool = False
    keys: list[str] = field(default_factory=list)
    """Its id, slug and aliases."""
    functions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    """What is checked, where the source gives no words."""
    text: str = ""
    """What was written about it by hand."""
    marks: list[str] = field(default_factory=list)
    """See `app.search.filters`."""


def read_documents(db: Session) -> list[Document]:
    """All entries: explained ones first, then by package and message."""
    explanations = db.exec(select(Explanation.entry_id, Explanation.content))
    written = {entry_id: content for entry_id, content in explanations}  # noqa: C416  # dict() would take the result for a mapping
    aliases: dict[str, list[str]] = defaultdict(list)
    successor: dict[str, str] = {}
    for alias in db.exec(select(Alias)):
        aliases[alias.entry_id].append(alias.alias)
        if alias.kind in _SUCCESSORS:
            successor[alias.alias] = alias.entry_id
    places = _places(db, successor)
    statuses = _statuses(db, successor)
    order = (col(Entry.explained).desc(), Entry.package, Entry.template, Entry.id)
    documents = []
    for entry in db.exec(select(Entry).order_by(*order)):
        place = places.get(entry.id) or _Places()
        documents.append(
            Document(
                id=entry.id,
                package=entry.package,
                error_class=entry.error_class,
                messages=_distinct([entry.template, *place.templates]),
                family=entry.family or "",
                slug=entry.slug or "",
                explained=entry.explained,
                keys=[entry.id, *([entry.slug] if entry.slug else []), *aliases[entry.id]],
                functions=_distinct(place.functions),
                files=_distinct(place.files),
                conditions=_distinct(place.conditions),
                text=_text_of(written.get(entry.id)),
                marks=marks_of(
                    package=entry.package,
                    error_class=entry.error_class,
                    family=entry.family,
                    explained=entry.explained,
                    statuses=statuses.get(entry.id, {}),
                ),
            )
        )
    return documents


@dataclass(slots=True)
class _Places:
    templates: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


def _places(db: Session, successor: dict[str, str]) -> dict[str, _Places]:
    """Wordings, functions and files of each entry over all releases, the newest first."""
    wanted = (
        select(Site.entry_id, Site.template, Site.function, Site.file)
        .join(Release)
        .order_by(col(Release.ordinal).desc())
    )
    seen: set[tuple[str, str, str, str]] = set()
    places: dict[str, _Places] = defaultdict(_Places)
    for row in db.exec(wanted):
        key = (row[0], row[1], row[2], row[3])
        if key in seen:
            continue
        seen.add(key)
        place = places[_newest(row[0], successor)]
        place.templates.append(row[1])
        place.functions.append(row[2])
        place.files.append(row[3])
    wordless = select(Site.entry_id, Site.guards).where(Site.template == "").join(Release)
    for entry_id, guards in db.exec(wordless.order_by(col(Release.ordinal).desc())):
        place = places[_newest(entry_id, successor)]
        if guards and not place.conditions:
            place.conditions.append(str(guards[-1]["text"]))
    return places


def _statuses(db: Session, successor: dict[str, str]) -> dict[str, dict[str, str]]:
    """Entry → release → what happened to it there."""
    names = {r.id: f"{r.package}=={r.version}" for r in db.exec(select(Release))}
    statuses: dict[str, dict[str, str]] = defaultdict(dict)
    for entry_id, release_id in db.exec(select(Site.entry_id, Site.release_id).distinct()):
        statuses[_newest(entry_id, successor)][names[release_id]] = "same"
    for change in db.exec(select(Change)):
        statuses[change.entry_id][names[change.release_id]] = change.status
    return statuses


def _newest(entry_id: str, successor: dict[str, str]) -> str:
    seen = {entry_id}
    while (following := successor.get(entry_id)) and following not in seen:
        entry_id = following
        seen.add(entry_id)
    return entry_id


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]


def _text_of(content: Mapping[str, Any] | None) -> str:
    """Every string of an explanation, whatever its keys."""
    found: list[str] = []
    stack: list[Any] = [content]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, Mapping):
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return "\n".join(found)[:_MAX_TEXT]
