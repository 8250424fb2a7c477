"""Which entries have something in common: function, variables, family and neighbourhood.

Text in, text out: no database. The same entries give the same relations on every machine.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    worded: bool = True
    """It has a message; what has none is related to others, but nothing is to it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Another entry and why it is shown."""

    id: str
    why: str


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
            if not stand.worded:
                continue
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
            if speakers and len(speakers) <= _COMMON:
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


def variables_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Names of variables and attributes that some expressions speak of, each once."""
    found: dict[str, None] = {}
    for text in texts:
        for name in _IDENTIFIER.findall(text):
            if name not in _PLAIN and not name.isupper():
                found.setdefault(name)
    return tuple(found)
