"""Which entry of the catalog is a refusal: by the place it was raised at, or by its words.

Computed from the wheel itself, so that it holds on a machine whose database is empty.
"""

import functools
import re
from dataclasses import dataclass
from typing import Any, Final

from app.knowledge.sections import read_facts
from app.scanner.finish import Finisher
from app.scanner.identity import bare_class, entry_id
from app.scanner.library import Library
from app.scanner.packages import package_facts
from app.scanner.records import ScannedSite
from app.scanner.sites import read_file
from app.settings import DATA_DIR
from app.wheels import Wheel


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """An entry that a finding belongs to."""

    id: str
    template: str
    slug: str | None = None


@dataclass(frozen=True, slots=True)
class _Curated:
    id: str
    slug: str
    package: str
    template: str
    match: re.Pattern[str] | None


_KEPT: Final = 4
_known: dict[str, "Entries"] = {}


def entries_of(wheel: Wheel) -> "Entries":
    """The entries of a release; what was read of a few releases is kept."""
    if wheel.sha256 not in _known:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[wheel.sha256] = Entries(wheel)
    return _known[wheel.sha256]


class Entries:
    """Looks entries up in one release.

    Args:
        wheel: the release.
    """

    def __init__(self, wheel: Wheel) -> None:
        self._wheel = wheel
        self._sites: dict[str, list[ScannedSite]] = {}
        self._names = [n for n in wheel.names() if n.endswith(".py")]
        self._library = Library(self._names, wheel.read)

    def of(self, error_class: str, message: str, site: dict[str, Any] | None) -> KnownEntry | None:
        """The entry of a refusal; None if nothing in the catalog is one."""
        if site is not None:
            found = self._at(str(site["file"]), int(site["line"]), error_class)
            if found is not None:
                slug = _slugs().get(found.entry_id)
                return KnownEntry(found.entry_id, found.template or found.condition, slug)
        return _by_words(error_class, message)

    def _at(self, file: str, line: int, error_class: str) -> ScannedSite | None:
        if file not in self._names:
            return None
        if file not in self._sites:
            facts = package_facts(self._wheel.package)
            finish = Finisher(self._wheel.package)
            module = self._library.module(file)
            self._sites[file] = read_file(module, self._library, facts, finish).sites
        here = [s for s in self._sites[file] if s.line <= line <= s.end_line]
        fitting = [s for s in here if s.error_class in (bare_class(error_class), "?")]
        return fitting[0] if fitting else None


def _by_words(error_class: str, message: str) -> KnownEntry | None:
    """A curated entry of another library (argparse) whose words these are."""
    for curated in _curated():
        if curated.match is not None and curated.package == "argparse":
            folded = " ".join(message.split())
            if curated.match.search(folded):
                identity = entry_id(curated.package, error_class, curated.template)
                return KnownEntry(identity, curated.template, curated.slug)
    return None


@functools.cache
def _curated() -> tuple[_Curated, ...]:
    found = []
    for path in sorted((DATA_DIR / "errors").glob("*.md")):
        head = read_facts(path)
        # An error without words has a condition instead.
        words, condition = head.get("message", ""), head.get("condition", "")
        found.append(
            _Curated(
                id=entry_id(head["package"], head["error_class"], words, condition=condition),
                slug=path.stem,
                package=head["package"],
                template=words,
                match=re.compile(head["match"]) if "match" in head else None,
            )
        )
    return tuple(found)


@functools.cache
def _slugs() -> dict[str, str]:
    return {curated.id: curated.slug for curated in _curated()}
