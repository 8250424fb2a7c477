"""Undoes the line breaks that a terminal puts in at its right edge.

A wrapped log gives itself away: no line is longer than the terminal is wide, several are exactly as
wide, and what follows those does not look like the beginning of a line.
"""

import re
from collections.abc import Sequence
from typing import Final

from app.diagnosis.prefixes import peel

_NARROWEST: Final = 40
_WIDEST: Final = 400
_ENOUGH: Final = 2
"""Lines of full width that must be there."""
_SHARE: Final = 0.7
"""Of these, how many must go on in the next line."""
_SAME: Final = 8
"""Characters by which a prefix is known."""
_FRESH: Final = re.compile(
    r"\s|$|\x1b|[│╭╰├|+]|\[|\("
    r"|\{|Traceback|File \"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Warning)\b|During handling"
    r"|The above exception|\d{4}-\d\d-\d\d|[IWEF]\d{4} |\d\d:\d\d:\d\d|```|[\w.-]+ +\| |INFO|WARN"
    r"|ERROR|>"
)
"""How lines begin that are not the rest of another one."""


_REST: Final = re.compile(
    r"[\w<>.]{1,80}\s*$|[\w./-]{0,120}\", line \d|[^\"]{0,8}, in [\w<>.]{1,80}\s*$"
)
"""What is left of a frame."""
_COMPLETE: Final = re.compile(r'\s*File "[^"]{1,300}", line \d{1,7}, in [\w<>.]{1,120}\s*$')
"""A frame that may end here; the name of an exception behind it is no part of it."""


def width(lines: Sequence[str]) -> int | None:
    """The width at which a log was wrapped, or None if it was not."""
    longest = max(map(len, lines), default=0)
    if not _NARROWEST <= longest <= _WIDEST:
        return None
    full = [i for i, line in enumerate(lines) if len(line) == longest]
    if len({lines[i] for i in full}) < _ENOUGH:
        # the same traceback twice has the same longest line twice: a torn frame must prove it
        torn = all(i + 1 < len(lines) and _torn(lines[i], lines[i + 1]) for i in full)
        return longest if torn else None
    going_on = sum(i + 1 < len(lines) and _goes_on(lines[i], lines[i + 1]) for i in full)
    return longest if going_on >= len(full) * _SHARE else None


def _torn(line: str, after: str) -> bool:
    """Whether a frame of a traceback goes on in the next line."""
    rest = _REST.match(after) is not None and bool(after.strip(" .…"))
    return 'File "' in line and rest and not _raised(line, after)


def _raised(line: str, after: str) -> bool:
    """Whether a frame is complete and the exception stands behind it."""
    return after.lstrip("_")[:1].isupper() and _COMPLETE.match(line) is not None


def _alike(line: str, after: str) -> bool:
    """Whether two lines carry the same prefix: what is left of a line has none."""
    return len(after) > _SAME and after.startswith(line[:_SAME])


def _goes_on(line: str, after: str) -> bool:
    """Whether a line is the rest of the one before."""
    if not after.strip():
        return False
    if _alike(line, after):
        return False
    if after[0] in "~^":
        return line.rstrip()[-1:] in "~^"
    if after[0] == " " and after[:2] != "  ":
        return True
    return _FRESH.match(after) is None and not peel(after).marks


def joined(lines: Sequence[str], wide: int) -> list[tuple[int, str, tuple[int, ...]]]:
    """The lines as they were printed.

    Args:
        lines: the wrapped ones.
        wide: the width.

    Returns:
        (index of the first wrapped line, text, where line breaks were taken out).
    """
    out: list[tuple[int, str, tuple[int, ...]]] = []
    i = 0
    while i < len(lines):
        first, text = i, lines[i]
        breaks: list[int] = []
        while len(lines[i]) == wide and i + 1 < len(lines) and lines[i + 1].strip():
            if _FRESH.match(lines[i + 1]) and lines[i + 1][:2] in ("  ", "[2", "Tr"):
                break
            if _raised(lines[i], lines[i + 1]) or _alike(lines[first], lines[i + 1]):
                break
            i += 1
            breaks.append(len(text))
            text += lines[i]
        out.append((first, text, tuple(breaks)))
        i += 1
    return out
