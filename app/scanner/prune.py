"""A function without the statements that cannot matter to the errors in it.

To read a site takes the statements around it and the early exits before it. All other statements
at the function's own level are blanked before parsing, line for line, which leaves the parser about
half to read. A cut that goes wrong (a line of a bracket taken for a statement) does not parse, and
a message in a variable asks for what was assigned to it: then the whole function is parsed.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from app.scanner.blocks import STATEMENT, Block, merge_decorated, outside

_DEF: Final = re.compile(rb"^([ \t]*)(?:async )?def ", re.MULTILINE)
_ONE_LINE: Final = re.compile(rb":[ \t]*(?:#[^\n]*)?\Z")


def pruned(
    text: bytes,
    block: Block,
    marks: Sequence[int],
    exits: Sequence[int],
    strings: Sequence[tuple[int, int]],
) -> bytes | None:
    """The source of a block as far as it matters; all of it where that cannot be told.

    Args:
        text: the file.
        block: a stretch of it.
        marks: offsets of what is looked for in the file, in order.
        exits: offsets of the words with which control may leave, in order.
        strings: ranges of the triple-quoted strings of the file, in order.

    Returns:
        Source with as many lines before each statement as there were; `None` if the marks turn out
        to be no part of a function's body.
    """
    whole = text[block.start : block.end]
    if not whole.lstrip().startswith((b"def ", b"async ", b"@")):
        return whole
    body = _body(text, block)
    if body is None:
        return whole
    begin, margin = body
    inside = marks[bisect_left(marks, block.start) : bisect_left(marks, block.end)]
    if inside[-1] < begin:
        return None
    starts = _statements(text, begin, block.end, margin, strings)
    if not starts or begin <= inside[0] < starts[0]:
        return whole
    out = [text[block.start : starts[0]]]
    blank = 0
    for start, end in pairwise([*starts, block.end]):
        if start > inside[-1]:
            break
        if _any(inside, start, end) or _any(exits, start, end):
            if blank:
                out.append(b"\n" * blank)
                blank = 0
            out.append(text[start:end])
        else:
            blank += text.count(b"\n", start, end)
    return b"".join(out)


def _statements(
    text: bytes, begin: int, end: int, margin: bytes, strings: Sequence[tuple[int, int]]
) -> list[int]:
    """Where the statements at a function's own level begin; empty where that cannot be told."""
    indent = _first_indent(text, begin, end)
    if not indent.startswith(margin) or len(indent) <= len(margin):
        return []
    inner = strings[bisect_left(strings, (begin, 0)) : bisect_left(strings, (end, 0))]
    starts = [m.start() + 1 for m in _lines(indent).finditer(text, begin - 1, end)]
    return merge_decorated(text, outside(starts, inner), len(indent))


def _any(offsets: Sequence[int], start: int, end: int) -> bool:
    at = bisect_left(offsets, start)
    return at < len(offsets) and offsets[at] < end


def _body(text: bytes, block: Block) -> tuple[int, bytes] | None:
    """Where a function's body begins, and the indentation of its `def`."""
    m = _DEF.search(text, block.start, block.end)
    if m is None:
        return None
    line_end = text.find(b"\n", m.end(), block.end)
    if line_end < 0:
        return None
    if _ONE_LINE.search(text[m.start() : line_end]):
        return line_end + 1, m[1]
    closing = _closings(m[1]).search(text, line_end, block.end)
    return (closing.end(), m[1]) if closing else None


def _first_indent(text: bytes, begin: int, end: int) -> bytes:
    """The indentation of the first line with something in it."""
    at = begin
    while at < end:
        line_end = text.find(b"\n", at, end)
        line = text[at : line_end if line_end >= 0 else end]
        stripped = line.lstrip(b" \t")
        if stripped and not stripped.startswith(b"#"):
            return line[: len(line) - len(stripped)]
        if line_end < 0:
            break
        at = line_end + 1
    return b""


@cache
def _lines(indent: bytes) -> re.Pattern[bytes]:
    """Lines of exactly this indentation at which a statement begins."""
    return re.compile(rb"\n" + indent + STATEMENT)


@cache
def _closings(indent: bytes) -> re.Pattern[bytes]:
    """The last line of a function's parameters that go over several lines."""
    return re.compile(rb"\n" + indent + rb"\)[^\n]*:[ \t]*(?:#[^\n]*)?\n")
