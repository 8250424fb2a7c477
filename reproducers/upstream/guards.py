"""Did the fixed call really pass the guard: its own line, executed under trace.

The trace is limited to the files of the entry's sites; other code runs untraced but for the
notice of each call.
"""

import ast
import sys
import threading
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class GuardTrace:
    """A context manager that notes whether a guard's own line was executed within it.

    Args:
        root: folder that holds the wheel's packages; None for the reference.
        sites: {"file", "line", "guardLines"}; without `guardLines` they are read from the source.
    """

    def __init__(self, root: str | None, sites: Sequence[dict[str, Any]]) -> None:
        self.reached = False
        self.lines: dict[str, set[int]] = {}
        base = Path(root) if root else Path(__file__).resolve().parents[2]
        for site in sites:
            path = base / str(site.get("file"))
            lines = {int(n) for n in site.get("guardLines") or ()}
            self.lines.setdefault(str(path), set()).update(
                lines or guard_lines(path, int(site.get("line") or 0))
            )

    def __enter__(self) -> "GuardTrace":
        if self.lines:
            threading.settrace(self._called)
            sys.settrace(self._called)
        return self

    def __exit__(self, *_exc: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # None is how it is taken off

    def _called(self, frame: types.FrameType, _event: str, _arg: Any) -> Any:
        return self._traced if frame.f_code.co_filename in self.lines and not self.reached else None

    def _traced(self, frame: types.FrameType, event: str, _arg: Any) -> Any:
        if event == "line" and frame.f_lineno in self.lines[frame.f_code.co_filename]:
            self.reached = True
            return None
        return self._traced


def guard_lines(path: Path, line: int) -> set[int]:
    """Lines of the condition under which the statement at `line` is reached.

    The innermost of: the test of the `if`, `while`, `assert` or `case` that leads there; the tests of
    earlier siblings that leave (`if ok: return`); the body of the `try` whose handler it is. Empty if
    nothing stands before it.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    found: set[int] = set()
    node: ast.AST | None = tree
    while node is not None:
        inner = next(
            (
                c
                for c in ast.iter_child_nodes(node)
                if hasattr(c, "lineno") and c.lineno <= line <= (c.end_lineno or c.lineno)
            ),
            None,
        )
        if inner is None:
            inner = next(
                (
                    c
                    for c in ast.iter_child_nodes(node)
                    if isinstance(c, ast.match_case)
                    and c.body[0].lineno <= line <= (c.body[-1].end_lineno or 0)
                ),
                None,
            )
        if inner is None:
            break
        found = _own_lines(node, inner, line) or found
        node = inner
    if isinstance(node, ast.Assert):
        return _span(node)
    return found


def _own_lines(node: ast.AST, inner: ast.AST, line: int) -> set[int]:
    """Lines by which `node` decides that its child `inner` is reached; empty if it does not."""
    if isinstance(inner, ast.Assert):
        return _span(inner)
    if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return set()
    found: set[int] = set()
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and inner in body:
            before = body[: body.index(inner)]
            exits = [s for s in before if isinstance(s, ast.If) and _leaves(s.body)]
            if exits:
                found = _span(exits[-1].test)
            elif isinstance(node, (ast.If, ast.While)):
                found = _span(node.test)
            elif isinstance(node, (ast.For, ast.AsyncFor)):
                found = _span(node.iter)
    if isinstance(node, ast.Try) and isinstance(inner, ast.ExceptHandler):
        found = {n for s in node.body for n in _span(s)}
    if isinstance(node, ast.Match):
        found = _span(node.subject)
    del line
    return found


def _leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _span(node: ast.AST) -> set[int]:
    start = getattr(node, "lineno", 0)
    return set(range(start, (getattr(node, "end_lineno", None) or start) + 1))
