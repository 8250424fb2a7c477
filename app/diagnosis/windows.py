"""How far does something reach that begins at a line: one line, a record, a whole traceback?"""

from dataclasses import dataclass, field
from typing import Final

from app.diagnosis.lines import Line, clean_one
from app.diagnosis.streams import EXCEPTION, FRAME

LOOKAHEAD: Final = 128 << 10
"""Bytes behind a block in which a traceback that begins in it is read to its end."""
_LONGEST_LINE: Final = 64 << 10
_TRACEBACK_LINES: Final = 600
_AFTER: Final = 12
"""Lines of a message behind the exception's first."""
_NATIVE_LINES: Final = 30
_BETWEEN: Final = 3
"""Other lines that may stand between two lines of a traceback."""


@dataclass(slots=True)
class Window:
    """Consecutive lines."""

    line: int
    """Lines of the block before them."""
    lines: list[Line]
    """Numbered from 1."""
    end: int
    """Where they end in the block."""
    raw: list[bytes] = field(default_factory=list)
    """Lines that are yet to be cleaned: many at once are cleaned twice as fast."""

    def clean(self) -> None:
        """Clean what was only copied."""
        for number, raw in enumerate(self.raw, 1):
            self.lines += clean_one(raw.decode("utf-8", "replace"), number)
        self.raw.clear()


def window(
    data: bytes | bytearray, start: int, size: int, line: int, *, kind: str, extra: int
) -> Window:
    """Read what begins at a line.

    Args:
        data: a block.
        start: where the line begins.
        size: how much of the block counts.
        line: lines of the block before it.
        kind: see `app.diagnosis.markers`.
        extra: lines that the message goes on for.
    """
    reader = _Reader(data, start, size)
    if kind == "traceback":
        reader.next()
        _traceback(reader)
        return Window(line, reader.lines, reader.at)
    raw = []
    for _ in range(1 + (_NATIVE_LINES if kind == "native" else extra)):
        one = reader.raw()
        if one is None:
            break
        raw.append(one)
    return Window(line, [], reader.at, raw)


class _Reader:
    """Cleans one line after the other."""

    def __init__(self, data: bytes | bytearray, at: int, size: int) -> None:
        self._data, self._size = data, size
        self.at = at
        self.lines: list[Line] = []
        self._number = 0

    def raw(self) -> bytes | None:
        """Take one more line as it stands there; None at the end of the block."""
        if self.at >= self._size:
            return None
        stop = self._data.find(b"\n", self.at, self._size)
        stop = self._size if stop < 0 else stop
        raw = bytes(self._data[self.at : min(stop, self.at + _LONGEST_LINE)])
        self.at = stop + 1
        return raw

    def next(self) -> Line | None:
        """Take one more line and clean it; None at the end of the block."""
        raw = self.raw()
        if raw is None:
            return None
        self._number += 1
        new = clean_one(raw.decode("utf-8", "replace"), self._number)
        self.lines += new
        return new[-1] if new else None


def _traceback(reader: _Reader) -> None:
    """Read until every traceback that began has ended, with its message and what it led to."""
    open_ = 1
    others = after = 0
    for _ in range(_TRACEBACK_LINES):
        line = reader.next()
        if line is None:
            return
        text = line.text
        change = _opens(text, open_)
        if change > 0:
            after = 0
        open_ += change
        if open_ <= 0:
            after += 1
            if after > _AFTER or (line.own and after > 1):
                return
        elif text[:1] in (" ", "\t") or FRAME.match(text) or not text:
            others = 0
        elif not line.source:
            others += 1
            if others > _BETWEEN * 8:
                return


def _opens(text: str, open_: int) -> int:
    """Tracebacks that a line opens, or closes if it is negative; one that leads on opens none."""
    if "Traceback (most recent call last" in text:
        return 1
    if "above exception was" in text or "handling of the above exception" in text:
        return max(0, 1 - open_)
    closes = open_ > 0 and text[:1] not in (" ", "\t", "") and _ends(text)
    return -1 if closes else 0


def _ends(text: str) -> bool:
    m = EXCEPTION.match(text)
    return m is not None and m["cls"].rsplit(".", 1)[-1][:1].isupper()
