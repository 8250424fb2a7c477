"""Which family an error site belongs to: one ordered table of rules, the first that holds decides.

`classify` looks at what a site says (its template), what it checks (its innermost guard), which
class it raises and what kind of site it is; nothing else, so the same words get the same family in
every package. The families themselves are described in `data/families/<tag>.md`; the rules are in
`app.scanner.family_rules`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.scanner.cues import CueIndex, normalise
from app.scanner.family_rules import RULES, Rule
from app.scanner.family_rules.rule import cues
from app.scanner.guards import Guard
from app.scanner.identity import bare_class

__all__ = ["TAGS", "classify", "deciding_guards"]

TAGS = tuple(sorted({rule.family for rule in RULES}))
"""Every family that a rule can give."""

_MAX_GUARD = 300
_MAX_NAME = 100
_DECIDING = frozenset({"if", "else", "match", "except", "check"})
_WORDED = {"else": "not ({})", "except": "except {}"}


def classify(error_class: str, template: str, guards: Sequence[str], kind: str) -> str | None:
    """The family of one site.

    Args:
        error_class: the class raised, as written; its last part counts.
        template: the message with holes as `{expr}`; may be empty.
        guards: conditions under which the site is reached, outermost first, see
            `deciding_guards`; only the innermost decides. For an assertion it is what is asserted.
        kind: `raise`, `assert`, `argparse`, `http`, `log` or `native`.

    Returns:
        A tag of `data/families`, or None where no rule holds.
    """
    text = normalise(template)
    guard = guards[-1][:_MAX_GUARD] if guards else ""
    name = bare_class(error_class)[:_MAX_NAME]
    maybe = _CUES.maybe(text)
    for row in _rows_for(name, kind):
        if row.cues and not row.cues & maybe:
            continue
        if row.checks and not (guard and row.checks.search(guard)):
            continue
        if row.cues and not _CUES.found(row.cues & maybe, text):
            continue
        if row.unless and row.unless.search(text):
            continue
        return row.family
    return None


def deciding_guards(guards: Iterable[Guard], kind: str) -> list[str]:
    """The texts of the guards that lead to a site, outermost first, as `classify` reads them.

    Earlier exits and loops only pass by a site; an assertion decides only its own (the last one).
    """
    own = "assert" if kind == "assert" else "check"
    texts = []
    for text, how, _ in guards:
        if how in _DECIDING or how == own:
            texts.append(_WORDED.get(how, "{}").format(text))
    return texts


@dataclass(frozen=True, slots=True)
class _Row:
    """A rule, ready to be asked."""

    family: str
    cues: int
    """Bits of its cues in `_CUES`."""
    kinds: frozenset[str]
    raises: re.Pattern[str] | None
    checks: re.Pattern[str] | None
    unless: re.Pattern[str] | None


@lru_cache(maxsize=2_000)
def _rows_for(name: str, kind: str) -> tuple[_Row, ...]:
    """The rules that may hold for a class and a kind: a release has few of either."""
    return tuple(
        row
        for row in _TABLE
        if (not row.kinds or kind in row.kinds) and (not row.raises or row.raises.search(name))
    )


def _pattern(source: str | None) -> re.Pattern[str] | None:
    return re.compile(source) if source else None


def _compile(rules: Iterable[Rule]) -> tuple[CueIndex, tuple[_Row, ...]]:
    index = CueIndex()
    rows = []
    for rule in rules:
        bits = 0
        for cue in cues(rule.says) if rule.says else ():
            bits |= index.add(cue)
        raises, checks, unless = map(_pattern, (rule.raises, rule.checks, rule.unless))
        rows.append(_Row(rule.family, bits, rule.kinds, raises, checks, unless))
    return index, tuple(rows)


_CUES, _TABLE = _compile(RULES)
