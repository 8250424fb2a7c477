"""The error sites of one Python file: every raise, assert, and call that shows an error.

Only the stretches with a marker word are parsed (`app.scanner.blocks`); the walk goes over
statements and looks into expressions only on lines that have a marker. `read_file` gives the sites
in the order of the source, and says what could not be parsed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from ahocorasick_rs import BytesAhoCorasick

from app.scanner.blocks import Block, blocks, outside, triple_quoted
from app.scanner.finish import Finisher
from app.scanner.fstrings import exchange_inner_quotes
from app.scanner.library import Library, Module, parse_text
from app.scanner.packages import PackageFacts
from app.scanner.prune import pruned
from app.scanner.records import ScannedSite
from app.scanner.surfaces import HELPER_MARKERS, MARKERS
from app.scanner.walk import Walker

_EXITS: Final = (b"return", b"continue", b"break", b"exit")
_LAST_EXIT: Final = 1 + len(_EXITS)
_WORD: Final = re.compile(rb"\w")
_SMALL: Final = 1500
"""Files up to this size are parsed whole: cutting them would cost as much."""


@dataclass(slots=True)
class FileSites:
    """What one file gave."""

    sites: list[ScannedSite] = field(default_factory=list)
    reraised: int = 0
    problem: str | None = None
    """Why a part of the file could not be read."""


class Markers:
    """Finds the words that announce a site, all in one pass over a file."""

    def __init__(self, functions: Iterable[str]) -> None:
        """For a package with these functions that answer with or raise an error."""
        every = {*MARKERS, *HELPER_MARKERS, *(f"{name}(".encode() for name in functions)}
        shortest = [m for m in sorted(every) if not any(o != m and o in m for o in every)]
        self._automaton = BytesAhoCorasick([b"raise", b"assert", *_EXITS, *shortest])

    def find(self, text: bytes) -> tuple[list[int], list[int], list[int]]:
        """Offsets in order: `raise` and `assert` statements, the calls' markers, words of exits."""
        statements: list[int] = []
        calls: list[int] = []
        exits: list[int] = []
        for word, at, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            if 1 < word <= _LAST_EXIT:
                exits.append(at)
                continue
            begin = text.rfind(b"\n", 0, at) + 1
            before = text[begin:at].strip()
            if word > 1:
                if not before.startswith(b"#"):
                    calls.append(at)
            elif word == 0 and text[end : end + 1] == b"_":
                calls.append(at)
            elif (not before or before[-1] in b":;") and not _WORD.match(text, end):
                statements.append(at)
        calls.sort()  # found by where they end
        return statements, calls, exits


@cache
def markers_for(functions: tuple[str, ...]) -> Markers:
    """The markers of a package, made once."""
    return Markers(functions)


def read_file(module: Module, library: Library, facts: PackageFacts, finish: Finisher) -> FileSites:
    """All error sites of a file.

    Args:
        module: the file.
        library: the wheel's Python files, for names from elsewhere.
        facts: what is special about the package.
        finish: makes the sites.
    """
    out = FileSites(problem=module.problem)
    text = module.text
    statements, calls, exits = markers_for((*facts.http, *facts.raises)).find(text)
    if not statements and not calls:
        return out
    marks = sorted({*statements, *calls})
    strings = triple_quoted(text) if len(text) > _SMALL else None
    whole = [Block(0, len(text))]
    pieces, cuts = whole, None
    if strings is not None:
        marks = outside(marks, strings)
        pieces, cuts = blocks(text, marks, strings), Cuts(marks, exits, strings)
    walker = Walker(module, library, facts, finish, calls)
    if _walk_pieces(walker, pieces, cuts) is not None:
        walker = Walker(module, library, facts, finish, calls)
        error = _walk_pieces(walker, whole)
        if error is not None:
            out.problem = out.problem or error
            walker = Walker(module, library, facts, finish, calls)
            pieces = blocks(text, marks, strings or ()) or whole
            _walk_pieces(walker, pieces, mend=True)
    out.reraised = walker.reraised
    out.sites = walker.sites
    return out


class Cuts(NamedTuple):
    """What a file is cut by, all in order."""

    marks: Sequence[int]
    exits: Sequence[int]
    strings: Sequence[tuple[int, int]]


def _walk_pieces(
    walker: Walker, pieces: Sequence[Block], cuts: Cuts | None = None, *, mend: bool = False
) -> str | None:
    """Parse and walk stretches of the file; returns why the first bad one does not parse.

    Args:
        walker: takes the sites.
        pieces: in order.
        cuts: to prune functions by; `None` to leave all as it is.
        mend: try what does not parse as a later Python would, and leave out what still does not.
    """
    text = walker.module.text
    line = at = 0
    for piece in pieces:
        line += text.count(b"\n", at, piece.start)
        at = piece.start
        offset = line - bool(piece.prefix)
        if cuts is not None:
            kept = pruned(text, piece, *cuts)
            if kept is None:
                continue
            tree, _ = parse_text(piece.prefix + kept)
            if tree is not None and walker.walk(tree, piece, offset, kept):
                continue
        source = piece.prefix + text[piece.start : piece.end]
        tree, error = parse_text(source)
        if tree is None and mend:
            tree, _ = parse_text(exchange_inner_quotes(source))
        if tree is not None:
            walker.walk(tree, piece, offset)
        elif not mend:
            return error
    return None
