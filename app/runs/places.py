"""Where an entry is in one release, and how that release words it.

The catalog answers if the release was scanned. Else the wheel itself is read: only the files that
hold the message. A release that words the message otherwise is found through a release that has
today's wording, by the same comparison that makes an entry's history.
"""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.python_source import parse_python
from app.runs.requests import site_values
from app.scanner.finish import Finisher
from app.scanner.history import Place, Telling, Words, compare
from app.scanner.library import Library
from app.scanner.locate import locate
from app.scanner.packages import package_facts
from app.scanner.reading import quietly
from app.scanner.records import ScannedSite
from app.scanner.sites import read_file
from app.wheels import Wheel

NO_WORDS: Final = "(?:)"
"""The pattern of a message that is empty."""
_MOST_TRIED: Final = 2
"""If the two nearest releases with today's wording do not lead to an older one, none does."""


@dataclass(frozen=True, slots=True)
class Places:
    """An entry in one release."""

    error_class: str
    template: str
    pattern: str
    sites: tuple[dict[str, Any], ...]
    """{"file", "function", "line", "guardLines"}; empty if the release does not have it."""


@dataclass(slots=True)
class Wording:
    """An entry as it is worded today."""

    error_class: str
    template: str
    pattern: str
    condition: str = ""
    """Stands in for a message without words: of an `assert` of nothing but its check."""

    def __post_init__(self) -> None:
        """The text of an error without words is empty."""
        if self.condition and not self.template:
            self.pattern = NO_WORDS


def places_in(wheel: Wheel, wording: Wording, others: Iterable[Wheel] = ()) -> Places:
    """Read the places of an entry out of a wheel.

    Args:
        wheel: the release in question.
        wording: the entry's class and message.
        others: further releases, nearest first, asked only if `wheel` words it otherwise.
    """
    sites = locate(wheel, wording)
    tried = 0
    for other in others if not sites else ():
        known = locate(other, wording)
        if known:
            sites = _reworded(wheel, other, known)
            tried += 1
        if sites or tried == _MOST_TRIED:
            break
    if not sites:
        return Places(wording.error_class, wording.template, wording.pattern, ())
    first = sites[0]
    return Places(
        first.error_class, first.template, first.pattern or wording.pattern, site_values(sites)
    )


def functions_in(wheel: Wheel, places: Iterable[str]) -> list[str]:
    """Those of the places `file::function` that a wheel has, nested functions included."""
    names = set(wheel.names())
    known: dict[str, frozenset[str]] = {}
    found = []
    for place in places:
        file, _, function = place.partition("::")
        if file not in names:
            continue
        if file not in known:
            known[file] = _functions(wheel.read(file))
        if function in known[file]:
            found.append(place)
    return found


def _functions(source: bytes) -> frozenset[str]:
    """The qualified names of all functions of a file; none if it cannot be parsed."""
    found: set[str] = set()

    def collect(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(prefix + child.name)
                collect(child, f"{prefix}{child.name}.")
            else:
                collect(child, prefix)

    try:
        collect(parse_python(source), "")
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(found)


def _reworded(wheel: Wheel, other: Wheel, known: list[ScannedSite]) -> list[ScannedSite]:
    """The sites in `wheel` of what became the entry of the `known` sites in `other`."""
    files = {s.file for s in known}
    ours = sites_of_files(wheel, files)
    theirs = sites_of_files(other, files)
    versions = _in_order(wheel, other)
    forward = versions[0] is wheel
    old, new = (ours, theirs) if forward else (theirs, ours)
    wanted = known[0].entry_id
    for change in compare(_places(old), _places(new), _telling(old), _telling(new)):
        if change.status not in ("reworded", "classChanged"):
            continue
        now, before = change.entry_id, change.previous
        found, partner = (now, before) if forward else (before, now)
        if found == wanted:
            return [s for s in ours if s.entry_id == partner]
    return []


def _in_order(one: Wheel, two: Wheel) -> tuple[Wheel, Wheel]:
    from packaging.version import Version  # noqa: PLC0415  # only where a message was reworded

    return (one, two) if Version(one.version) <= Version(two.version) else (two, one)


def _places(sites: list[ScannedSite]) -> list[Place]:
    return [Place(s.entry_id, s.file, s.function, s.line, i) for i, s in enumerate(sites)]


def _telling(sites: list[ScannedSite]) -> Telling:
    def words(refs: Sequence[int]) -> dict[int, Words]:
        return {i: _words(sites[i]) for i in refs}

    return words


def _words(site: ScannedSite) -> Words:
    said = site.condition or site.words
    return Words(site.error_class, said, not site.condition, site.nearest)


def sites_of_files(wheel: Wheel, files: Iterable[str]) -> list[ScannedSite]:
    """All sites of some files of a wheel, in reading order; files it does not have are left out."""
    names = [n for n in wheel.names() if n.endswith(".py")]
    library = Library(names, wheel.read)
    facts = package_facts(wheel.package)
    finish = Finisher(wheel.package)
    found: list[ScannedSite] = []
    with quietly():
        for file in sorted(set(files) & set(names)):
            found += read_file(library.module(file), library, facts, finish).sites
    return sorted(found, key=lambda s: (s.file, s.line, s.end_line))
