"""Which stretches of a file must be parsed: the statements that hold something of interest.

Parsing is what costs, so a file is cut at the lines where a top-level statement can begin (and a
class where a statement of its body can), and only the pieces with a marker in them are given to
the parser. A cut can be wrong only inside a triple-quoted string or a bracket; strings are told
apart here, and a wrong cut in a bracket does not parse, upon which the caller takes the larger
piece: the top-level block, then the file.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

STATEMENT = rb"(?=[A-Za-z_@])(?!(?:else|elif|except|finally)\b)"
_TOP = re.compile(rb"\n" + STATEMENT)
_DEFINES = (b"def ", b"class ", b"async ")
_CLASS = re.compile(rb"class\s+(\w+)")
_MEMBER = re.compile(rb"\n([ \t]+)(?=def |async |class |@)")
_CLOSED = re.compile(rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')


_BACKSLASH = ord("\\")


class Block(NamedTuple):
    """A stretch of a file that parses by itself once `prefix` stands before it."""

    start: int
    end: int
    classes: tuple[str, ...] = ()
    """Names of the classes around it."""

    @property
    def prefix(self) -> bytes:
        """What makes an indented piece parse; one line."""
        return b"class _:\n" if self.classes else b""


def triple_quoted(text: bytes) -> list[tuple[int, int]] | None:
    """Ranges of the triple-quoted strings, `None` where that cannot be told."""
    ranges = []
    pos = 0
    double, single = text.find(b'"""'), text.find(b"'''")
    while double >= 0 or single >= 0:
        if double >= 0 and (single < 0 or double < single):
            at, quote = double, b'"""'
        else:
            at, quote = single, b"'''"
        before = text[max(text.rfind(b"\n", 0, at) + 1, pos) : at]
        if (b'"' in before or b"'" in before or b"#" in before) and _inside(before):
            after = at + 3  # in a comment or a plain string
        else:
            close = text.find(quote, at + 3)
            while close >= 0 and _escaped(text, close):
                close = text.find(quote, close + 1)
            if close < 0:
                return None
            after = pos = close + 3
            ranges.append((at, after))
        if 0 <= double < after:
            double = text.find(b'"""', after)
        if 0 <= single < after:
            single = text.find(b"'''", after)
    return ranges


def _inside(before: bytes) -> bool:
    """Whether what follows on the line is in a comment or in a string with one quote."""
    rest = _CLOSED.sub(b"", before)
    return b"#" in rest or b'"' in rest or b"'" in rest


def _escaped(text: bytes, at: int) -> bool:
    slashes = 0
    while at > slashes and text[at - 1 - slashes] == _BACKSLASH:
        slashes += 1
    return slashes % 2 == 1


def merge_decorated(text: bytes, starts: list[int], skip: int) -> list[int]:
    """Drop the starts that continue the statement before: what is decorated."""
    out: list[int] = []
    decorating = False
    for start in starts:
        head = text[start + skip : start + skip + 8]
        if decorating:
            decorating = not head.startswith(_DEFINES)
            continue
        decorating = head.startswith(b"@")
        out.append(start)
    return out


def outside(starts: Iterable[int], strings: Sequence[tuple[int, int]]) -> list[int]:
    """The starts that are in none of the strings; both in order."""
    out = []
    i, n = 0, len(strings)
    for start in starts:
        while i < n and strings[i][1] <= start:
            i += 1
        if i == n or start <= strings[i][0]:
            out.append(start)
    return out


def top_level(text: bytes, strings: Sequence[tuple[int, int]]) -> list[int]:
    """Offsets at which the file's top-level statements begin, from 0."""
    starts = [m.end() for m in _TOP.finditer(text)]
    found = merge_decorated(text, outside(starts, strings), 0)
    return found if found and found[0] == 0 else [0, *found]


def _in_class(
    text: bytes, block: Block, strings: Sequence[tuple[int, int]], marks: Sequence[int]
) -> list[Block]:
    """The pieces of a class that hold marks; the class itself where it cannot be cut."""
    head = _class_head(text, block)
    if head is None:
        return [block]
    name, head_end = head
    lo = bisect_left(strings, (block.start, 0))
    inner = strings[lo : bisect_left(strings, (block.end, 0))]
    members = outside((m.start(1) for m in _MEMBER.finditer(text, head_end, block.end)), inner)
    if not members:
        return [block]
    indents = {text[m : _indent_end(text, m)] for m in members}
    indent = min(indents, key=len)
    line = re.compile(rb"\n" + indent + STATEMENT)
    starts = [m.start() + 1 for m in line.finditer(text, head_end, block.end)]
    starts = merge_decorated(text, outside(starts, inner), len(indent))
    if not starts or marks[0] < starts[0]:
        return [block]
    return [
        Block(start, end, (*block.classes, name))
        for start, end in _holding(starts, block.end, marks)
    ]


def _class_head(text: bytes, block: Block) -> tuple[str, int] | None:
    at = block.start
    while text[at : at + 1] == b"@":
        step = text.find(b"\nclass ", at, block.end)
        if step < 0:
            return None
        at = step + 1
    m = _CLASS.match(text, at)
    return (m[1].decode("utf-8", "replace"), at) if m else None


def _indent_end(text: bytes, at: int) -> int:
    while text[at] in b" \t":
        at += 1
    return at


def _holding(starts: Sequence[int], end: int, marks: Sequence[int]) -> list[tuple[int, int]]:
    """The stretches between starts that hold at least one mark."""
    out: list[tuple[int, int]] = []
    last = -1
    for mark in marks:
        if mark < last:
            continue
        i = bisect_right(starts, mark) - 1
        last = starts[i + 1] if i + 1 < len(starts) else end
        out.append((starts[i], last))
    return out


def blocks(text: bytes, marks: Sequence[int], strings: Sequence[tuple[int, int]]) -> list[Block]:
    """The smallest stretches that hold all marks.

    Args:
        text: the file.
        marks: offsets of what is looked for, in order.
        strings: ranges of the triple-quoted strings, in order.
    """
    out: list[Block] = []
    for start, end in _holding(top_level(text, strings), len(text), marks):
        block = Block(start, end)
        inside = marks[bisect_left(marks, start) : bisect_left(marks, end)]
        if text.startswith((b"class ", b"@"), start):
            out.extend(_in_class(text, block, strings, inside))
        else:
            out.append(block)
    return out
