"""Prefixes that nobody listed, learned from the lines that carry them.

Frames of a traceback have a form of their own, so whatever stands before `File "...", line N` on
several lines is a prefix, known or not. Its shape (digits free) is then taken off every line.
"""

import re
from collections import Counter
from typing import Final

from app.diagnosis.lines import Line, peel_again
from app.diagnosis.patterns import lazy
from app.diagnosis.streams import FRAME

_FRAME: Final = lazy(
    r'(?P<prefix>\S[^"\n]{0,150}?)(?P<indent>\s{0,6})File "[^"\n]{1,400}", line \d'
)
_HEADER: Final = lazy(r"(?P<prefix>\S[^\n]{0,150}?)Traceback \(most recent call last\)")
_DIGITS: Final = lazy(r"\d+")
_NAME: Final = lazy(r"[\w.-]*[A-Za-z][\w.-]*")
"""What tells two printers apart; clocks and counters do not."""
_EVERY: Final = 0.8
_RECORDS: Final = frozenset({"record", "ranks", "torn"})
"""Marks that tell ranks apart."""
_ENOUGH: Final = 2
"""Frames that must carry the same shape before it is believed."""


def take_off_learned(lines: list[Line]) -> None:
    """Take prefixes off that stand before frames and are in no table, in place."""
    shapes: Counter[str] = Counter()
    for line in lines:
        at = line.text.find('File "')
        if at <= 0 or line.text[:at].isspace():
            continue
        m = _FRAME().match(line.text)
        if m and "^" not in m["prefix"] and not m["prefix"].endswith(("|", "+")):
            shapes[_DIGITS().sub("0", m["prefix"])] += 1
    for shape, count in sorted(shapes.items(), key=lambda s: -s[1])[:4]:
        pattern = re.compile(r"\d+".join(map(re.escape, shape.split("0"))) + r"\s?")
        if count >= _ENOUGH or sum(bool(pattern.match(x.text)) for x in lines) > _ENOUGH:
            _take_off(lines, pattern)
    _settle(lines)


def _settle(lines: list[Line]) -> None:
    """Marks that stand on the lines of tracebacks as well are the container's, not the program's.

    Then they do not begin a record: only what a line has beyond them does.
    """
    frames = [line for line in lines if line.own and FRAME.match(line.text)]
    if not frames or len(frames) < _EVERY * sum(1 for x in lines if FRAME.match(x.text)):
        return
    seen = Counter(mark for line in frames for mark in set(line.own.split(",")))
    every = {m for m, n in seen.items() if n >= _EVERY * len(frames) and m not in _RECORDS}
    if every:
        for line in lines:
            if line.own:
                line.own = ",".join(m for m in line.own.split(",") if m not in every)


def _take_off(lines: list[Line], pattern: re.Pattern[str]) -> None:
    for line in lines:
        m = pattern.match(line.text)
        if m and m.end():
            identity = " ".join(_NAME().findall(line.text[: m.end()]))
            line.source = f"{line.source}/{identity}" if line.source else identity
            peel_again(line, m.end())
