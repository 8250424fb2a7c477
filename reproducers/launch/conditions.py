"""What the source says around a raise: which settings decide, and against which values.

Read from the wheel's own file at the place of the raise, nothing is executed. Names are attributes
and variables as they stand in the conditions; which of them are flags is for the caller to say.
"""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_SIGNS: Final = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Mod: "%",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`name sign value`; for `%` the value is the name of the divisor or a number."""

    name: str
    sign: str
    value: Any


@dataclass(slots=True)
class Conditions:
    """What decides about a raise, the innermost condition first."""

    names: list[str] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    required: bool = False
    """The comparisons must hold (an assertion); else they must not."""
    text: str = ""
    """The innermost condition as written."""


def conditions_at(path: Path, line: int) -> Conditions:
    """The conditions under which the statement at `line` is reached, or that it asserts."""
    found = Conditions()
    try:
        tree = _parsed(path, path.stat().st_mtime_ns)
    except (OSError, SyntaxError, ValueError):
        return found
    tests: list[tuple[ast.expr, bool]] = []
    for node in _around(tree, line):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            tests.clear()
        elif isinstance(node, ast.Assert):
            tests.append((node.test, True))
        elif isinstance(node, ast.If | ast.While):
            in_test = node.test.lineno <= line <= (node.test.end_lineno or 0)
            in_body = any(s.lineno <= line <= (s.end_lineno or 0) for s in node.body)
            tests.append((node.test, not (in_body or in_test)))
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
            value = node.value
            if value is not None and not isinstance(value, ast.Constant):
                tests.append((value, False))
    for test, required in reversed(tests):
        if not found.text:
            found.text = " ".join(ast.unparse(test).split())
            found.required = required
        _read(test, found)
    return found


@functools.lru_cache(maxsize=16)
def _parsed(path: Path, _changed: int) -> ast.Module:
    return ast.parse(path.read_bytes())


def _around(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """The statements that enclose a line, outermost first, the one at the line last."""
    node: ast.AST | None = tree
    while node is not None:
        inner = None
        for child in ast.iter_child_nodes(node):
            start, end = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
            if start is not None and end is not None and start <= line <= end:
                if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    inner = child
                    break
            elif isinstance(child, ast.match_case):
                body = child.body
                if body[0].lineno <= line <= (body[-1].end_lineno or 0):
                    inner = child
                    break
        if inner is not None:
            yield inner
        node = inner


def _read(test: ast.expr, found: Conditions) -> None:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            _compare(node, found)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            left, right = _name(node.left), _name(node.right)
            value = right or _constant(node.right)
            if left and value is not None:
                found.comparisons.append(Comparison(left, "%", value))
    for node in ast.walk(test):
        name = _name(node)
        if name and name not in found.names:
            found.names.append(name)


def _compare(node: ast.Compare, found: Conditions) -> None:
    operands = [node.left, *node.comparators]
    for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
        sign = _SIGNS.get(type(op), "")
        a, b = _name(left), _name(right)
        value = _constant(right)
        if a and value is not _NOTHING:
            found.comparisons.append(Comparison(a, sign, value))
        other = _constant(left)
        if b and other is not _NOTHING and sign in _FLIPPED:
            found.comparisons.append(Comparison(b, _FLIPPED[sign], other))


def _name(node: ast.AST) -> str:
    """`cfg.page_size` → page_size, `topk` → topk, `len(x)` → nothing."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


_NOTHING: Final = object()


def _constant(node: ast.AST) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return _NOTHING
