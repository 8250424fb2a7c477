"""Prefixes that nobody listed, learned from the lines that carry them.

Frames of a traceback have a form of their own, so whatever stands before `File "...", line N` on
several lines is a prefix, known or not. Its shape (digits free) is then taken off every line.
"""

import re
from collections import Counter
from typing import Final

from app.diagnosis.lines import Line

_FRAME: Final = re.compile(
    r'(?P<prefix>\S[^"\n]{0,150}?)(?P<indent>\s{0,6})File "[^"\n]{1,400}", line \d'
)
_HEADER: Final = re.compile(r"(?P<prefix>\S[^\n]{0,150}?)Traceback \(most recent call last\)")
_DIGITS: Final = re.compile(r"\d+")
_NAME: Final = re.compile(r"[\w.-]*[A-Za-z][\w.-]*")
"""What tells two printers apart; clocks and counters do not."""
_ENOUGH: Final = 2
"""Frames that must carry the same shape before it is believed."""


def take_off_learned(lines: list[Line]) -> None:
    """Take prefixes off that stand before frames and are in no table, in place."""
    shapes: Counter[str] = Counter()
    for line in lines:
        at = line.text.find('File "')
        if at <= 0 or line.text[:at].isspace():
            continue
        m = _FRAME.match(line.text)
        if m and "^" not in m["prefix"] and not m["prefix"].endswith(("|", "+")):
            shapes[_DIGITS.sub("0", m["prefix"])] += 1
    for shape, count in sorted(shapes.items(), key=lambda s: -s[1])[:4]:
        if count >= _ENOUGH:
            _take_off(lines, shape)


def _take_off(lines: list[Line], shape: str) -> None:
    pattern = re.compile(r"\d+".join(map(re.escape, shape.split("0"))) + r"\s?")
    for line in lines:
        m = pattern.match(line.text)
        if m and m.end():
            identity = " ".join(_NAME.findall(line.text[: m.end()]))
            line.source = f"{line.source}/{identity}" if line.source else identity
            line.text = line.text[m.end() :]
            line.column += m.end()
