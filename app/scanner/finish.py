"""From what was found at a place to a finished site: template, pattern put to the test, id.

The same message stands at many places; what depends on the message alone is made once.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app.scanner.guards import Guard
from app.scanner.identity import bare_class, entry_id
from app.scanner.records import ScannedSite
from app.scanner.selftest import self_test
from app.scanner.templates import Hole, has_words, pattern, render, skeleton
from app.scanner.variants import Variant

if TYPE_CHECKING:
    from app.scanner.family_memory import FamilyMemory

_NEAREST: Final = frozenset({"if", "else", "match", "except", "check"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Spot(NamedTuple):
    """Where in a file a site is."""

    file: str
    function: str
    line: int
    end_line: int


class _Message(NamedTuple):
    """What depends on the message and the class alone."""

    error_class: str
    template: str
    holes: str
    pattern: str
    words: str
    entry_id: str
    """Empty where the message has no words of its own."""
    good: bool


class Finisher:
    """Finishes the sites of one package."""

    def __init__(self, package: str) -> None:
        """A finisher for a package (canonical name)."""
        self.failed: list[dict[str, Any]] = []
        """Sites whose pattern does not match a message produced from their own template."""
        self._package = package
        self._messages: dict[tuple[str, tuple[str | Hole, ...]], _Message] = {}

    def site(
        self,
        kind: str,
        error_class: str,
        variant: Variant,
        form: str,
        spot: Spot,
        *,
        guards: Sequence[Guard] = (),
        status: int | None = None,
    ) -> ScannedSite:
        """One finished site; its `site_id` waits for the whole release."""
        key = (error_class, tuple(variant))
        message = self._messages.get(key)
        if message is None:
            message = self._messages[key] = self._read(error_class, variant)
        condition, entry = "", message.entry_id
        if not entry:
            condition = stand_in(kind, message.template, guards, spot.function)
            entry = entry_id(self._package, message.error_class, variant, condition=condition)
        if not message.good:
            self.failed.append({"file": spot.file, "line": spot.line, "template": message.template})
        return ScannedSite(
            kind=kind,
            error_class=message.error_class,
            template=message.template,
            holes_json=message.holes,
            pattern=message.pattern,
            words=message.words,
            condition=condition,
            file=spot.file,
            function=spot.function,
            line=spot.line,
            end_line=spot.end_line,
            guards_json=_encode([{"text": t, "kind": k, "line": n} for t, k, n in guards])
            if guards
            else "[]",
            nearest=nearest(kind, guards),
            form=form,
            entry_id=entry,
            http_status=status,
        )

    def _read(self, error_class: str, variant: Variant) -> _Message:
        name = bare_class(error_class)
        regex = pattern(variant, quoted=name == "KeyError") if variant else ""
        holes = [
            {"expr": p.expr, "conversion": p.conversion, "format": p.format}
            for p in variant
            if not isinstance(p, str)
        ]
        return _Message(
            name,
            _storable(render(variant)),
            _encode(holes) if holes else "[]",
            regex,
            skeleton(variant),
            entry_id(self._package, name, variant) if has_words(variant) else "",
            not variant or self_test(variant, regex),
        )


def set_families(sites: Iterable[ScannedSite], memory: "FamilyMemory") -> None:
    """Give sites their family; what the memory knows is not worked out again."""
    from app.scanner.families import classify  # noqa: PLC0415  # its tables are only loaded here

    for site in sites:
        key = memory.key(site.error_class, site.template, site.kind, site.nearest)
        if key not in memory:
            memory[key] = classify(site.error_class, site.template, decided_by(site), site.kind)
        site.family = memory[key]


def learn_families(sites: Iterable[ScannedSite], memory: "FamilyMemory") -> None:
    """Keep the families of sites that got theirs elsewhere."""
    for site in sites:
        memory[memory.key(site.error_class, site.template, site.kind, site.nearest)] = site.family


def decided_by(site: ScannedSite) -> list[str]:
    """The one condition that `classify` is to look at; none where there is none."""
    from app.scanner.families import deciding_guards  # noqa: PLC0415  # as in set_families

    kind, _, text = site.nearest.partition(" ")
    return deciding_guards([Guard(text, kind, 0)], site.kind) if kind else []


def _storable(text: str) -> str:
    """Text that every database takes: no null characters, no halves of characters."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\u2400")


def nearest(kind: str, guards: Sequence[Guard]) -> str:
    """The condition that decides about a site, `if x is None`; an assertion's own is its check."""
    if kind == "assert" and guards and guards[-1].kind == "assert":
        return f"assert {guards[-1].text}"
    for guard in reversed(guards):
        if guard.kind in _NEAREST:
            return f"{guard.kind} {guard.text}".rstrip()
    return ""


def stand_in(kind: str, template: str, guards: Sequence[Guard], function: str) -> str:
    """What stands in for a message that has no words of its own.

    The check itself for an assertion; the nearest condition for anything else, and the function's
    name where there is none (methods that a subclass must write).
    """
    where = nearest(kind, guards)
    if kind == "assert" and where:
        return f"{where}, {template}" if template else where
    if not where:
        leaf = function.rpartition(".")[2]
        where = f"in {leaf}" if leaf else "at module level"
    return f"{template} {where}" if template else where
