"""Where a few messages are in a release, without scanning all of it.

Only the files that hold the rarest words of a message are parsed, so the answer takes about as long
as unpacking the wheel once. What is found is exactly what a scan would find.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from app.scanner.finish import Finisher
from app.scanner.identity import bare_class
from app.scanner.library import Library
from app.scanner.packages import package_facts
from app.scanner.reading import quietly
from app.scanner.records import ScannedSite
from app.scanner.release import number_sites
from app.scanner.sites import read_file
from app.scanner.templates import parse, skeleton
from app.wheels import Wheel

_WORD: Final = re.compile(r"[A-Za-z0-9_]{3,}")
_MOST_WORDS: Final = 8


class HasTemplate(Protocol):
    """An entry, as far as it matters here."""

    error_class: str
    template: str

    @property
    def condition(self) -> str:
        """Stands in for a template that has no words of its own; empty if it has."""


Wanted = str | HasTemplate
"""A template, or an entry (its class has to agree as well)."""


def locate(wheel: Wheel, wanted: Wanted | Iterable[Wanted]) -> list[ScannedSite]:
    """The sites of some templates in a release, in reading order.

    Args:
        wheel: the release.
        wanted: templates (`KDA verify needs {n} scratch steps`) or entries; hole expressions do
            not matter, white space and holes' places do.

    Raises:
        ValueError: a template has a brace that is neither doubled nor part of a hole.
    """
    items = [wanted] if isinstance(wanted, str) or hasattr(wanted, "template") else list(wanted)
    keys = {_key(item) for item in items}  # type: ignore[arg-type]  # narrowed above
    names = [n for n in wheel.names() if n.endswith(".py")]
    library = Library(names, wheel.read)
    words = [_words(key) for key in keys]
    facts = package_facts(wheel.package)
    finish = Finisher(wheel.package)
    found: list[ScannedSite] = []
    with quietly():
        for name in names:
            raw = wheel.read(name)
            if any(all(w in raw for w in each) for each in words if each):
                sites = read_file(library.module(name), library, facts, finish).sites
                found += [s for s in sites if _wanted(s, keys)]
    found.sort(key=lambda s: (s.file, s.line, s.end_line))
    number_sites(found)
    return found


class _Key(NamedTuple):
    """What a site is compared by."""

    words: str
    error_class: str
    """Empty if any will do."""
    condition: str
    """Empty where the message has words."""


def _key(item: Wanted) -> _Key:
    if isinstance(item, str):
        return _Key(skeleton(item), "", "")
    return _Key(skeleton(item.template), bare_class(item.error_class), item.condition)


def _wanted(site: ScannedSite, keys: set[_Key]) -> bool:
    own = _Key(site.words, site.error_class, site.condition)
    return own in keys or own._replace(error_class="") in keys


def _words(key: _Key) -> list[bytes]:
    """The longest words of a message: whatever way it is split over lines, these stay whole."""
    text = key.condition or " ".join(p for p in parse(key.words) if isinstance(p, str))
    words = sorted(set(_WORD.findall(text)), key=len, reverse=True)
    return [w.encode() for w in words[:_MOST_WORDS]]
