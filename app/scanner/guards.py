"""Under which conditions a statement is reached, earlier exits included.

A guard is what holds on the way from the start of the enclosing function: the tests of the `if`s,
loops, matches and handlers around, the `if ...: return` and `raise` that were passed before, and
the assertions that held. Outermost first, in the order of the source.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from app.scanner.expressions import text_of

LONGEST: Final = 600
"""Longer conditions are cut, with an ellipsis."""


class Guard(NamedTuple):
    """One condition on the way to a site."""

    text: str
    """The condition as it is written; for `else` and `exit` it did *not* hold."""
    kind: str
    """if | else | exit | assert | match | loop | except | check."""
    line: int


class Pending(NamedTuple):
    """A guard whose text is made only if a site needs it."""

    kind: str
    node: ast.AST | None
    line: int
    before: str = ""
    case: ast.match_case | None = None


def leaves(body: Sequence[ast.stmt]) -> bool:  # noqa: PLR0911  # one answer a kind of statement
    """Whether control never passes the end of these statements."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    if isinstance(last, ast.With | ast.AsyncWith):
        return leaves(last.body)
    if isinstance(last, ast.Try):
        body_leaves = leaves(last.orelse) if last.orelse else leaves(last.body)
        return leaves(last.finalbody) or (
            body_leaves and all(leaves(h.body) for h in last.handlers)
        )
    if isinstance(last, ast.Match):
        return _catches_all(last) and all(leaves(c.body) for c in last.cases)
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        func = last.value.func
        return (
            isinstance(func, ast.Attribute)
            and func.attr in ("exit", "_exit", "error")
            and isinstance(func.value, ast.Name)
            and func.value.id in ("sys", "os", "parser")
        )
    return False


def _catches_all(node: ast.Match) -> bool:
    last = node.cases[-1]
    return last.guard is None and isinstance(last.pattern, ast.MatchAs) and not last.pattern.pattern


def passed_by(statement: ast.stmt) -> list[Pending]:
    """What is known after a statement was passed: exits not taken, assertions that held."""
    known = _PASSED.get(type(statement))
    return known(statement) if known is not None else []


def _held(statement: ast.Assert) -> list[Pending]:
    return [Pending("assert", statement.test, statement.lineno)]


def _not_caught(statement: ast.Try) -> list[Pending]:
    return [
        Pending("exit", h.type, h.lineno, "except ")
        for h in statement.handlers
        if h.type is not None and leaves(h.body)
    ]


def _exits(node: ast.If) -> list[Pending]:
    """The tests of a chain whose branches all leave so far; the first that stays ends it."""
    out = []
    while leaves(node.body):
        out.append(Pending("exit", node.test, node.lineno))
        if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
            break
        node = node.orelse[0]
    return out


_PASSED: Final[dict[type[ast.stmt], Callable[..., list[Pending]]]] = {
    ast.If: _exits,
    ast.Assert: _held,
    ast.Try: _not_caught,
}

PASSABLE: Final = frozenset(_PASSED)
"""Statements after which something is known."""


class Texts:
    """Texts of pending guards, made once each."""

    def __init__(self, offset: int) -> None:
        """Guards of one block; `offset` is added to their lines."""
        self._offset = offset
        self._made: dict[tuple[str, int, int], Guard] = {}

    def of(self, pending: Pending) -> Guard:
        """The guard with its text."""
        key = (pending.kind, pending.line, id(pending.case or pending.node))
        made = self._made.get(key)
        if made is None:
            text = pending.before + _text(pending)
            if len(text) > LONGEST:
                text = text[:LONGEST] + "…"
            made = self._made[key] = Guard(text, pending.kind, pending.line + self._offset)
        return made


def _text(pending: Pending) -> str:
    node = pending.node
    if pending.case is not None:
        wanted = text_of(pending.case.pattern)
        when = f" if {text_of(pending.case.guard)}" if pending.case.guard else ""
        return f"{text_of(node) if node else ''} is {wanted}{when}"
    if isinstance(node, ast.For | ast.AsyncFor):
        return f"for {text_of(node.target)} in {text_of(node.iter)}"
    return "" if node is None else text_of(node)
