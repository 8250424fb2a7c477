"""Where an expression stands, and what the names around it were assigned."""

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.scanner.library import Library, Module

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class Scope:
    """Where an expression stands, for looking up the names in it."""

    module: Module
    library: Library
    text: bytes = b""
    """Source of the block around, to see at a glance whether a name is assigned in it."""
    kept: bytes | None = None
    """What of it was parsed; `None` if all was."""
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    class_name: str = ""
    line: int = 0
    """Line of the expression, in the numbering of `function`'s nodes."""
    caught: frozenset[str] = frozenset()
    """Names bound by `except ... as name` around it."""
    bound: Mapping[str, tuple[ast.expr | None, "Scope"]] = field(default_factory=dict)
    """Arguments of a call whose body is being read, and where they come from."""
    busy: frozenset[str] = frozenset()
    """Names whose value is being read, against circles."""


Assigned = list[tuple[int, str, ast.expr]]
"""(line, how: `=`, `+=` or what else, value), by line."""


class NeedsWholeError(Exception):
    """A name has to be looked up in statements that were pruned: parse the whole function."""


def values_of(scope: Scope, name: str) -> Assigned:
    """What the function around assigns to a name, by line; empty if nothing or no function.

    Raises:
        NeedsWholeError: it may be assigned in statements that were left out before parsing.
    """
    if scope.function is None:
        return []
    if scope.kept is not None:
        word = name.encode()
        if scope.text.count(word) != scope.kept.count(word):
            raise NeedsWholeError
    return assigned(scope.function).get(name, [])


def assigned(function: Function) -> Mapping[str, Assigned]:
    """What a function assigns to its names; functions inside of it are left out."""
    known: Mapping[str, Assigned] | None = getattr(function, "_assigned", None)
    if known is not None:
        return known
    out: dict[str, Assigned] = defaultdict(list)
    _note_all(function.body, out)
    for values in out.values():
        values.sort(key=lambda v: v[0])
    function._assigned = out  # type: ignore[union-attr]  # noqa: SLF001  # lives with the node
    return out


def _note_all(body: Sequence[ast.stmt], out: dict[str, Assigned]) -> None:
    for node in body:
        kind = type(node)
        if kind in _PLAIN_STATEMENTS:
            continue
        _note(node, out)
        if kind in _WITH_BODIES:
            for name in ("body", "orelse", "finalbody"):
                _note_all(getattr(node, name, ()), out)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                _note_all(part.body, out)


_PLAIN_STATEMENTS: Final = frozenset(
    {ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Pass, ast.FunctionDef, ast.ClassDef}
)
_WITH_BODIES: Final = frozenset(
    {
        ast.If,
        ast.For,
        ast.AsyncFor,
        ast.While,
        ast.With,
        ast.AsyncWith,
        ast.Try,
        ast.TryStar,
        ast.Match,
    }
)


def _note(  # noqa: C901  # one branch a kind of statement
    node: ast.stmt, out: dict[str, Assigned]
) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                out[target.id].append((node.lineno, "=", node.value))
            elif isinstance(target, ast.Tuple | ast.List):
                _note_names(target, "unpack", node.value, out)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        if isinstance(node.target, ast.Name) and node.value is not None:
            how = "+=" if isinstance(node, ast.AugAssign) else "="
            out[node.target.id].append((node.lineno, how, node.value))
    elif isinstance(node, ast.For | ast.AsyncFor):
        _note_names(node.target, "for", node.iter, out)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None:
                _note_names(item.optional_vars, "with", item.context_expr, out)


def _note_names(target: ast.expr, how: str, value: ast.expr, out: dict[str, Assigned]) -> None:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            out[node.id].append((getattr(value, "lineno", 0), how, value))


def parameters(function: Function) -> list[str]:
    """Names of a function's parameters, in order, keyword-only ones last."""
    a = function.args
    names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return names + [x.arg for x in (a.vararg, a.kwarg) if x]


def default_of(function: Function | None, name: str) -> ast.expr | None:
    """What a parameter is if the caller does not say; None if there is no such default."""
    if function is None:
        return None
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    pairs = [
        *zip(reversed(positional), reversed(a.defaults), strict=False),
        *zip(a.kwonlyargs, a.kw_defaults, strict=True),
    ]
    return next((value for parameter, value in pairs if parameter.arg == name), None)
