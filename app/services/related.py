"""Which other entries are worth a look: up to five, the same ones on every machine.

Curated ones come first, in the order of the entry file. Then entries raised in the same function,
entries whose guard or message speaks of the same variable, and entries of the same family nearby
(same file, then same folder). Everything is computed for the whole catalog in one go and kept for
as long as the catalog does not change.
"""

import math
import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy
from sqlmodel import Session, col, func, select

from app.db import read_meta
from app.models import Alias, Entry, Explanation, Release, Site
from app.scanner.families import deciding_guards
from app.scanner.guards import Guard
from app.search.pasted import Templates, shape_of
from app.services.records import Related

MOST = 5
_NEIGHBOURS = 24
"""How many entries of a function, variable or family are looked at, the nearest first."""
_COMMON = 60
"""A variable that more entries speak of says nothing."""
_FUNCTION = 4.0
_CLOSE = 2.0
_VARIABLE = 3.0
_FILE_FAMILY = 1.5
_FOLDER_FAMILY = 1.0
_IDENTIFIER = re.compile(r"(?<![\w'\"])(?:[A-Za-z_]\w*\s*\.\s*)*([A-Za-z_]\w{3,})(?![\w(])")
_PLAIN = frozenset(
    {
        "None", "True", "False", "self", "isinstance", "torch", "bool", "float", "tuple", "list",
        "dict", "shape", "dtype", "device", "size", "numel", "args", "kwargs", "config", "name",
        "value", "type", "index", "item", "result", "error", "message", "data",
    }
)  # fmt: skip
"""Names that are in every second guard."""
_lock = threading.Lock()
_cache: dict[str, dict[str, list["Relation"]]] = {}


@dataclass(frozen=True, slots=True)
class Stand:
    """Where an entry stands, as far as its relations go."""

    id: str
    package: str
    family: str
    file: str
    function: str
    line: int
    variables: tuple[str, ...]
    """Names that its guard and its message speak of."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Another entry and why it is shown."""

    id: str
    why: str


def related_of(db: Session, entry_id: str) -> list[Related]:
    """The related entries of one entry, best first; empty if nothing is near it."""
    found = all_related(db).get(entry_id, [])
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


def all_related(db: Session) -> dict[str, list[Relation]]:
    """The relations of all entries of the catalog as it is now."""
    version = read_meta(db, "catalog") or ""
    with _lock:
        known = _cache.get(version) if version else None
        if known is None:
            known = relate(read_stands(db), read_curated(db))
            _cache.clear()
            _cache[version] = known
        return known


def relate(
    stands: Sequence[Stand], curated: Mapping[str, Sequence[str]]
) -> dict[str, list[Relation]]:
    """Relate every entry to up to five others.

    Args:
        stands: one for each entry, its newest place.
        curated: entry id → ids that its file names, in order.
    """
    ordered = sorted(stands, key=lambda s: (s.package, s.file, s.line, s.id))
    near = _Neighbourhood(ordered)
    out: dict[str, list[Relation]] = {}
    for number, stand in enumerate(ordered):
        named = [
            Relation(i, "named by its author") for i in curated.get(stand.id, ()) if i != stand.id
        ]
        chosen = {relation.id: relation for relation in named[:MOST]}
        if len(chosen) < MOST:
            for relation in near.best(number, MOST + len(chosen)):
                chosen.setdefault(relation.id, relation)
        if chosen:
            out[stand.id] = list(chosen.values())[:MOST]
    for entry_id, ids in curated.items():  # explained before any release was scanned
        if entry_id not in out:
            out[entry_id] = [Relation(i, "named by its author") for i in ids if i != entry_id][
                :MOST
            ]
    return out


class _Neighbourhood:
    """Entries by what they have in common; numbers are places in the order of the source."""

    def __init__(self, stands: Sequence[Stand]) -> None:
        self._stands = stands
        self._functions: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._variables: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._in_file: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._in_folder: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, stand in enumerate(stands):
            package, file, family = stand.package, stand.file, stand.family
            if stand.function:
                self._functions[package, file, stand.function].append(number)
            for variable in stand.variables:
                self._variables[package, variable].append(number)
            if family:
                self._in_file[package, file, family].append(number)
                self._in_folder[package, _folder(file), family].append(number)
        self._rarity = math.log(len(stands) + 2)

    def best(self, number: int, most: int) -> list[Relation]:
        """The nearest relatives of an entry, best first."""
        stand = self._stands[number]
        scores: dict[int, float] = defaultdict(float)
        reasons: dict[int, tuple[float, str]] = {}
        for others, points, why in self._common(stand):
            for other in _around(others, number):
                scores[other] += points
                if points > reasons.get(other, (0.0, ""))[0]:
                    reasons[other] = (points, why)
        scores.pop(number, None)
        for other in scores:
            there = self._stands[other]
            if there.file == stand.file:
                scores[other] += _CLOSE / (1 + abs(there.line - stand.line) / 20)
        ranked = sorted(scores, key=lambda other: (-scores[other], abs(other - number), other))
        return [Relation(self._stands[other].id, reasons[other][1]) for other in ranked[:most]]

    def _common(self, stand: Stand) -> Iterator[tuple[list[int], float, str]]:
        """Entries that have something in common, what that is worth, and what it is."""
        package, file = stand.package, stand.file
        if stand.function:
            yield self._functions[package, file, stand.function], _FUNCTION, "same function"
        for variable in stand.variables:
            speakers = self._variables[package, variable]
            if 1 < len(speakers) <= _COMMON:
                points = _VARIABLE * (1 - math.log(len(speakers)) / self._rarity)
                yield speakers, points, f"same variable: {variable}"
        if stand.family:
            here = self._in_file[package, file, stand.family]
            yield here, _FILE_FAMILY, "same family in this file"
            near = self._in_folder[package, _folder(file), stand.family]
            yield near, _FOLDER_FAMILY, "same family nearby"


def _around(numbers: list[int], number: int) -> list[int]:
    """Those nearest in the order of the source; numbers are sorted."""
    if len(numbers) <= _NEIGHBOURS:
        return numbers
    return sorted(numbers, key=lambda n: (abs(n - number), n))[:_NEIGHBOURS]


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


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
    for entry_id, package, family, file, function, line, kind, guards, holes in db.execute(wanted):
        if entry_id in stands:
            continue
        texts = deciding_guards((Guard(g["text"], g["kind"], g["line"]) for g in guards), kind)
        spoken = [*texts[-1:], *(str(hole["expr"]) for hole in holes)]
        stands[entry_id] = Stand(
            entry_id, package, family or "", file, function, line, variables_of(spoken)
        )
    return list(stands.values())


def variables_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Names of variables and attributes that some expressions speak of, each once."""
    found: dict[str, None] = {}
    for text in texts:
        for name in _IDENTIFIER.findall(text):
            if name not in _PLAIN and not name.isupper():
                found.setdefault(name)
    return tuple(found)


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
