"""Which family an error site belongs to: a table of rules, and weights learned from labelled sites.

`classify` looks at what a site says (its template), what it checks (its innermost guard), which
class it raises and what kind of site it is; nothing else, so the same words get the same family in
every package. The rules (`app.scanner.family_rules`) are what people who know these engines would
say first: one ordered table, the first that holds. Alone they are right on four of five labelled
sites, so what they say is only one feature among the words (`app.scanner.family_features`) that
are weighed (`app.scanner.family_weights`). The families themselves are described in
`data/families/<tag>.md`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from app.scanner.cues import CueIndex, normalise
from app.scanner.family_features import RULED, WORDS, features_of
from app.scanner.family_rules import RULES
from app.scanner.family_rules.rule import cues
from app.scanner.family_weights import weights
from app.scanner.guards import Guard
from app.scanner.identity import bare_class

__all__ = ["TAGS", "classify", "deciding_guards", "site_features"]

TAGS = tuple(sorted({rule.family for rule in RULES}))
"""Every family that a rule can give."""

_NO_RULE = "none"
_MAX_TEMPLATE = 600
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
        A tag of `data/families`, or None where any family would be a guess.
    """
    found = site_features(error_class, template, guards, kind)
    learned = weights()
    if not any(name in learned.rows for name in found if name.startswith(WORDS)):
        # Nothing to weigh: neither the message nor the condition has a word that was learned.
        ruled = next(name for name in found if name.startswith(RULED)).removeprefix(RULED)
        return None if ruled == _NO_RULE else ruled
    return learned.family(found)


def site_features(
    error_class: str, template: str, guards: Sequence[str], kind: str
) -> frozenset[str]:
    """What is weighed of a site, what the rules say of it included; arguments as `classify`."""
    template = template[:_MAX_TEMPLATE]
    text = normalise(template)
    guard = guards[-1][:_MAX_GUARD] if guards else ""
    name = bare_class(error_class)[:_MAX_NAME]
    ruled = _by_rule(text, guard, name, kind) or _NO_RULE
    found = features_of(text, template, guard, name, kind)
    return frozenset(found | {f"{RULED}{ruled}", f"kr:{kind} {ruled}"})


def _by_rule(text: str, guard: str, name: str, kind: str) -> str | None:
    """The family of the first rule that holds."""
    index, _ = _compiled()
    maybe = index.maybe(text)
    for row in _rows_for(name, kind):
        if row.cues and not row.cues & maybe:
            continue
        if row.checks and not (guard and row.checks.search(guard)):
            continue
        if row.cues and not index.found(row.cues & maybe, text):
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
    """Bits of its cues in the index."""
    kinds: frozenset[str]
    raises: re.Pattern[str] | None
    checks: re.Pattern[str] | None
    unless: re.Pattern[str] | None


@lru_cache(maxsize=2_000)
def _rows_for(name: str, kind: str) -> tuple[_Row, ...]:
    """The rules that may hold for a class and a kind: a release has few of either."""
    return tuple(
        row
        for row in _compiled()[1]
        if (not row.kinds or kind in row.kinds) and (not row.raises or row.raises.search(name))
    )


def _pattern(source: str | None) -> re.Pattern[str] | None:
    return re.compile(source) if source else None


@cache
def _compiled() -> tuple[CueIndex, tuple[_Row, ...]]:
    """The table of rules, ready to be asked; made when first asked for."""
    index = CueIndex()
    rows = []
    for rule in RULES:
        bits = 0
        for cue in cues(rule.says) if rule.says else ():
            bits |= index.add(cue)
        raises, checks, unless = map(_pattern, (rule.raises, rule.checks, rule.unless))
        rows.append(_Row(rule.family, bits, rule.kinds, raises, checks, unless))
    return index, tuple(rows)
