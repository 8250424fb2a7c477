"""Every pattern put to the test: a message produced from the template must match it.

The scanner does this for each site and reports those that fail.
"""

import re
from collections.abc import Sequence
from functools import cache

from app.scanner.templates import ANY, NUMBERS, Parts, sample, sample_values


def self_test(parts: Parts, regex: str) -> bool:
    """Whether `regex` matches, in full, a message produced from the template, a group a hole.

    A regex is made of few constructs, and which text of the message each has to match is known, so
    the regex is read and followed here, which takes a tenth of the time that compiling it takes;
    what is none of those constructs is left to `re`. That both agree is tested.
    """
    values = sample_values(parts)
    message = sample(parts)
    found = _follow(regex, message, values)
    if found is not None:
        return found
    try:
        match = re.fullmatch(regex, message)
    except (re.error, OverflowError, RecursionError):
        return False
    return match is not None and match.re.groups == len(values)


def _follow(  # noqa: C901, PLR0911  # one branch a construct
    regex: str, message: str, values: Sequence[str]
) -> bool | None:
    """Follow a regex through a message with these values; `None` where it has other constructs."""
    at = end = hole = waiting = 0
    for m in _CONSTRUCT.finditer(regex):
        if m.start() != end:
            return None
        end = m.end()
        literal = m[1] or m[2]
        if literal is not None:
            if not message.startswith(literal, at):
                return False
            at += len(literal)
            continue
        construct = m[0]
        if construct.startswith(r"\s"):
            stop = at
            while stop < len(message) and message[stop].isspace():
                stop += 1
            if stop == at and construct == r"\s+":
                return False
            at = stop
        elif construct == "()":
            hole, waiting = hole + 1, waiting + 1
        elif construct != _QUOTE:
            if hole >= len(values):
                return False
            value = "".join(values[hole - waiting : hole + 1])
            hole, waiting = hole + 1, 0
            if not message.startswith(value, at) or not _fits(construct, value):
                return False
            at += len(value)
    if end != len(regex):
        return None
    return at == len(message) and hole == len(values) and not waiting


@cache
def _fits(group: str, value: str) -> bool:
    """Whether the group of a hole matches a value; there are few groups and few values."""
    return re.fullmatch(group, value) is not None


_QUOTE = "[\"']?"
_CONSTRUCT = re.compile(
    r"([^\\\[\](){}.*+?^$|]+)|\\([^\sA-Za-z0-9])|\\s[+*]|\(\)|"
    + "|".join(re.escape(g) for g in sorted({ANY, _QUOTE, *NUMBERS.values()}, key=len)[::-1])
)
