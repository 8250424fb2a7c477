"""Which change a person would make first: a legal value, dropping, another choice, off."""

import re
from typing import Any, Final, Literal

from reproducers.synthesis.kinds import ANY, UNSET, default_of, fits
from reproducers.synthesis.names import counts, likely, odd
from reproducers.synthesis.running import Attempt
from reproducers.synthesis.search import State
from reproducers.synthesis.shapes import plain
from reproducers.synthesis.specs import Member, Tensor, Thing, same
from reproducers.synthesis.worlds import World
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
    if isinstance(value, list | tuple) and not value and now is not UNSET:
        rank = 3  # nothing is left to be checked
    if _evades(now, value):
        rank, strange = 3, True
    far = number + (500.0 if strange else 0.0)
    return rank, far, {path: value}


def unlike(path: str, value: Any, world: World) -> bool:
    """Whether nothing says that an input could be such a value: a tensor as a key, a flag of 1."""
    kind = world.kinds.get(path, ANY)
    used = world.used.get(path)
    if kind.name != "any" or type(value) is type(used):
        return False
    if value is None and isinstance(used, bool) and likely(path.rpartition(".")[2]) == (bool,):
        return True
    if isinstance(value, Tensor | list | int | float | str):
        compared = [plain(v) for v in world.compared.get(path, ())]
        fitting = likely(path.rpartition(".")[2])
        named = fitting != (object,) and isinstance(value, fitting)
        return not named and not any(type(value) is type(c) for c in compared)
    return False


def rank_away(attempt: Attempt, trigger: State, changes: dict[str, Any]) -> Rank | None:
    """What a change is that keeps the site from being reached: another choice, or a feature off.

    Returns:
        None if it is neither: then the call only returns before anything was checked.
    """
    world = attempt.world
    assert world is not None
    before = trigger.attempt.world.used if trigger.attempt and trigger.attempt.world else {}
    plain_off = all(
        (v is False and trigger.values.get(path, before.get(path)) is True)
        or v is None
        or (path in trigger.values and same(v, default_of(world.kinds.get(path, ANY), path)))
        for path, v in changes.items()
    )
    kinds = {p: world.kinds.get(p, ANY) for p in changes}
    listed = all(
        isinstance(v, str | Member)
        and fits(v, kinds[p])
        and (kinds[p].choices or kinds[p].name == "enum")
        for p, v in changes.items()
    )
    is_off = any(str(v).lower() in _OFF for v in changes.values())
    if listed and not is_off:
        return "other choice"
    return "switched off" if listed or plain_off else None


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
    if isinstance(value, list | tuple):
        return not value
    nothing = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
    return nothing and counts(path)


def goes_on(path: str, other: str) -> bool:
    """Whether a path is of an attribute or a result of another."""
    return other.startswith((f"{path}.", f"{path}("))


def off(now: Any, value: Any) -> int:
    """2 if a change switches something off that was on (to be added to a rank), else 0."""
    return 2 if now is True and value is False else 0
