"""Did the fixed call really pass the guard: its own line, executed under trace, and then return.

The trace is limited to the files of the entry's sites; other code runs untraced but for the
notice of each call.
"""

import ast
import opcode
import sys
import threading
import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Self

PROJECT: Final = Path(__file__).resolve().parents[2]
"""What the paths of the reference start from."""


class GuardTrace:
    """A context manager that notes whether the last call within it passed a guard's own line.

    A call passes if it evaluates the guard and then returns. One that the guard refuses leaves by
    an exception: what was passed before does not count any more, and a later call has to pass the
    guard anew.

    Args:
        root: folder that holds the wheel's packages; None for the reference.
        sites: {"file", "function", "line", "guardLines"}. A site that names its function alone has
            no guard of its own (a library raises there, or nothing does): it is passed when the
            function is entered and returns. Other sites without guard lines are not watched, nor
            are those marked `unwatched`.
    """

    def __init__(self, root: str | None, sites: Sequence[dict[str, Any]]) -> None:
        self.reached = False
        self._lines: dict[str, set[int]] = {}
        self._functions: set[tuple[str, str]] = set()
        base = Path(root) if root else PROJECT
        for site in sites:
            path = base / str(site.get("file"))
            if site.get("unwatched"):
                continue
            if not site.get("line") and not site.get("guardLines"):
                self._functions.add((str(path), str(site.get("function"))))
                continue
            lines = condition_lines(path, site.get("guardLines") or (), int(site.get("line") or 0))
            self._lines.setdefault(str(path), set()).update(lines)

    def __enter__(self) -> Self:
        if any(self._lines.values()) or self._functions:
            threading.settrace(self._called)
            sys.settrace(self._called)
        return self

    def __exit__(self, *_exc: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _called(self, frame: types.FrameType, _event: str, _arg: Any) -> Any:
        file = frame.f_code.co_filename
        if self._functions:
            name = frame.f_code.co_qualname.replace(".<locals>", "")
            if (file, name) in self._functions:
                return _Call(self, (), evaluated=True).trace
        lines = self._lines.get(file)
        return _Call(self, lines).trace if lines else None


class _Call:
    """One call of a function in a file that holds a guard."""

    def __init__(self, owner: GuardTrace, lines: Iterable[int], *, evaluated: bool = False) -> None:
        self._owner = owner
        self._lines = frozenset(lines)
        self._evaluated = evaluated

    def trace(self, frame: types.FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self._evaluated = self._evaluated or frame.f_lineno in self._lines
        elif event == "return" and self._evaluated:
            self._owner.reached = _returns(frame)
        return self.trace


def _returns(frame: types.FrameType) -> bool:
    """Whether a frame that is being left returns or yields; an exception leaves it elsewhere."""
    return opcode.opname[frame.f_code.co_code[frame.f_lasti]].startswith(("RETURN_", "YIELD_"))


def condition_lines(path: Path, first_lines: Iterable[int], site: int) -> set[int]:
    """All lines of the conditions that begin at `first_lines`.

    A condition may span lines. Where the site is what remains after a run of exits (`if a: return`,
    `if b: return`, `raise`) or the `else` of a chain, all tests of the run or chain are one guard.

    Args:
        path: the source file.
        first_lines: where the conditions begin.
        site: the line of what they guard.
    """
    wanted = set(first_lines)
    found = set(wanted)
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return found
    for body in _bodies(tree):
        for i, node in enumerate(body):
            if isinstance(node, ast.If):
                found |= _of_chain(body, i, wanted, site)
            elif isinstance(node, ast.Try):
                for handler in node.handlers:
                    if handler.lineno in wanted:
                        found |= {n for s in node.body for n in _span(s)}
            elif node.lineno in wanted:
                found |= _span(_condition(node))
    return found


def _bodies(tree: ast.AST) -> Iterable[list[ast.stmt]]:
    """Every list of statements, but for those that are only the `elif` of an `if`."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            is_elif = isinstance(node, ast.If) and name == "orelse" and _elif(node) is not None
            if isinstance(body, list) and body and not is_elif:
                yield body


def _of_chain(body: list[ast.stmt], index: int, wanted: set[int], site: int) -> set[int]:
    chain = [node := body[index]]
    while isinstance(node, ast.If) and (inner := _elif(node)) is not None:
        chain.append(node := inner)
    tests = [c for c in chain if isinstance(c, ast.If)]
    hit = [c for c in tests if c.lineno in wanted]
    if not hit:
        return set()
    last = tests[-1]
    if not chain[0].lineno <= site <= (chain[0].end_lineno or 0):  # passed by: a run of exits
        while index > 0 and isinstance(before := body[index - 1], ast.If) and _leaves(before.body):
            tests.append(before)
            index -= 1
        hit = tests
    elif last.orelse and last.orelse[0].lineno <= site:  # the last else
        hit = tests
    return {n for c in hit for n in _span(c.test)} | {c.lineno for c in hit}


def _elif(node: ast.If) -> ast.If | None:
    inner = node.orelse[0] if len(node.orelse) == 1 else None
    return inner if isinstance(inner, ast.If) and inner.col_offset == node.col_offset else None


def _condition(node: ast.stmt) -> ast.AST:
    """The part of a statement that decides what is reached next."""
    if isinstance(node, ast.While):
        return node.test
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter
    if isinstance(node, ast.Match):
        return node.subject
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With)):
        return ast.Pass(lineno=node.lineno, col_offset=0, end_lineno=node.lineno)
    return node


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _span(node: ast.AST) -> set[int]:
    start = int(getattr(node, "lineno", 0))
    return set(range(start, int(getattr(node, "end_lineno", None) or start) + 1))
