"""The error sites of one Python file: every raise, assert, and call that shows an error.

Only the stretches with a marker word are parsed (`app.scanner.blocks`); the walk goes over
statements and looks into expressions only on lines that have a marker. `read_file` gives the sites
in the order of the source, and says what could not be parsed.
"""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from app.scanner.blocks import Block, blocks
from app.scanner.finish import Finisher
from app.scanner.fstrings import exchange_inner_quotes
from app.scanner.library import Library, Module
from app.scanner.packages import PackageFacts
from app.scanner.records import ScannedSite
from app.scanner.surfaces import HELPER_MARKERS, MARKERS
from app.scanner.walk import Walker

_STATEMENT: Final = re.compile(rb"(?:^|[\n:;])[ \t\f]*\Z")
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


@cache
def markers_of(functions: tuple[str, ...]) -> tuple[bytes, ...]:
    """Pieces of source that announce a call of interest; none holds another.

    Args:
        functions: names of the package's own functions that answer with or raise an error.
    """
    every = {*MARKERS, *HELPER_MARKERS, *(f"{name}(".encode() for name in functions)}
    return tuple(m for m in sorted(every) if not any(o != m and o in m for o in every))


def find_marks(text: bytes, calls: Iterable[bytes]) -> tuple[list[int], list[int]]:
    """Offsets of `raise` and `assert` statements, and of the calls' markers, both in order."""
    statements: list[int] = []
    found: list[int] = []
    for word in (b"raise", b"assert"):
        at = text.find(word)
        while at >= 0:
            if not _WORD.match(text, at + len(word)) and _STATEMENT.search(
                text[max(text.rfind(b"\n", 0, at), 0) : at]
            ):
                statements.append(at)
            elif word == b"raise" and text[at + 5 : at + 6] == b"_":
                found.append(at)
            at = text.find(word, at + len(word))
    for marker in calls:
        at = text.find(marker)
        while at >= 0:
            found.append(at)
            at = text.find(marker, at + len(marker))
    statements.sort()
    found.sort()
    return statements, found


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
    statements, calls = find_marks(text, markers_of((*facts.http, *facts.raises)))
    if not statements and not calls:
        return out
    walker = Walker(module, library, facts, finish, calls)
    marks = sorted({*statements, *calls})
    whole = [Block(0, len(text))]
    pieces = whole if len(text) <= _SMALL else blocks(text, marks)
    if pieces is None or _walk_pieces(walker, pieces) is not None:
        walker = Walker(module, library, facts, finish, calls)
        error = _walk_pieces(walker, whole)
        if error is not None:
            out.problem = out.problem or error
            walker = Walker(module, library, facts, finish, calls)
            _walk_pieces(walker, blocks(text, marks) or whole, mend=True)
    out.reraised = walker.reraised
    out.sites = walker.sites
    return out


def _parse(text: bytes) -> tuple[ast.Module | None, str]:
    try:
        tree = compile(text, "<wheel>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as e:
        return None, f"line {e.lineno}: {e.msg}"
    except ValueError as e:
        return None, str(e)
    except (RecursionError, MemoryError):
        return None, "nested too deeply for the parser"
    return (tree, "") if isinstance(tree, ast.Module) else (None, "not a module")


def _walk_pieces(walker: Walker, pieces: Sequence[Block], *, mend: bool = False) -> str | None:
    """Parse and walk stretches of the file; returns why the first bad one does not parse.

    Args:
        walker: takes the sites.
        pieces: in order.
        mend: try what does not parse as a later Python would, and leave out what still does not.
    """
    text = walker.module.text
    line = at = 0
    for piece in pieces:
        source = piece.prefix + text[piece.start : piece.end]
        tree, error = _parse(source)
        if tree is None and mend:
            tree, _ = _parse(exchange_inner_quotes(source))
            if tree is None:
                continue
        if tree is None:
            return error
        line += text.count(b"\n", at, piece.start)
        at = piece.start
        walker.walk(tree, piece, line - bool(piece.prefix))
    return None
