"""Which change a person would make first: a legal value, dropping, another choice, off."""

import re
from typing import Any, Final, Literal

from reproducers.synthesis.kinds import ANY, UNSET, fits
from reproducers.synthesis.names import counts, odd
from reproducers.synthesis.running import Attempt
from reproducers.synthesis.search import State
from reproducers.synthesis.specs import Member, Thing
from reproducers.upstream.matching import message_of

Rank = Literal["legal value", "dropped", "other choice", "switched off"]
RANKS: Final[tuple[Rank, ...]] = ("legal value", "dropped", "other choice", "switched off")
_QUOTED: Final = re.compile(r"""(['"`])([A-Za-z][\w./-]{0,40})\1""")
_WORDS: Final = re.compile(r"(?<![\w-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b(?!=)")
_ANY_WORD: Final = ("custom", "other", "1", "{}", "")
"""Texts that stand for any text: tried, after those that the engine itself names."""
_OFF: Final = ("none", "null", "off", "disabled")


def ranked(
    path: str, value: Any, number: int, offending: dict[str, None], trigger: State
) -> tuple[int, float, dict[str, Any]]:
    """A change with its rank (an index of `RANKS`) and how far it goes.

    Args:
        path: of the input that is changed.
        value: what it becomes.
        number: its place among the proposals.
        offending: what the deciding condition looks at.
        trigger: the inputs of the trigger.
    """
    now = trigger.values.get(path, UNSET)
    if path not in offending or off(now, value):
        rank = 3
    elif value is None:
        rank = 1
    else:
        # Where the trigger gives no such input, what it is by default is the offending one.
        given = any(p in trigger.values for p in offending)
        rank = 0 if path in trigger.values or not given else 2
    if path == "platform" or path.startswith("env:"):
        rank = max(rank, 2)
    strange = isinstance(value, Thing) or odd(path, value) or _empties(path, value)
    strange = strange or value in _ANY_WORD
    if _evades(now, value):
        rank, strange = 3, True
    far = number + (500.0 if strange else 0.0)
    return rank, far, {path: value}


def rank_away(attempt: Attempt, changes: dict[str, Any]) -> Rank:
    """What a change is that keeps the site from being reached: another choice, or a feature off."""
    world = attempt.world
    assert world is not None
    kinds = {p: world.kinds.get(p, ANY) for p in changes}
    listed = all(
        isinstance(v, str | Member)
        and fits(v, kinds[p])
        and (kinds[p].choices or kinds[p].name == "enum")
        for p, v in changes.items()
    )
    is_off = any(str(v).lower() in _OFF for v in changes.values())
    return "other choice" if listed and not is_off else "switched off"


def named_in(trigger: State) -> list[str]:
    """What the message itself names, in quotes or by its spelling: often it would do."""
    error = trigger.attempt.error if trigger.attempt is not None else None
    message = message_of(error) if error is not None else ""
    return [*(m[1] for m in _QUOTED.findall(message)), *_WORDS.findall(message)]


def _evades(now: Any, value: Any) -> bool:
    """Whether a value differs only in a way that no person would mean: `"FA3"` for `"fa3"`."""
    return isinstance(now, str) and isinstance(value, str) and now.lower() == value.lower()


def _empties(path: str, value: Any) -> bool:
    """Whether a size or a number of things becomes nothing: legal, and rarely meant."""
    if isinstance(value, list | tuple | dict | set):
        return not value
    nothing = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return nothing and counts(path)


def goes_on(path: str, other: str) -> bool:
    """Whether a path is of an attribute or a result of another."""
    return other.startswith((f"{path}.", f"{path}("))


def off(now: Any, value: Any) -> int:
    """2 if a change switches something off that was on (to be added to a rank), else 0."""
    return 2 if now is True and value is False else 0
