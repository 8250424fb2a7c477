"""Functions that end in an exception made of their arguments, and the calls to them."""

import ast
from collections.abc import Sequence
from typing import Final, NamedTuple

from app.scanner.expressions import is_class_name, last_name, text_of
from app.scanner.library import Module
from app.scanner.scope import Scope, parameters

HOPS: Final = 4
"""How many base classes are followed."""
_SHORT_BODY: Final = 6


class Helper(NamedTuple):
    """A short function that raises or returns an exception made of its arguments."""

    raises: bool
    function: ast.FunctionDef | ast.AsyncFunctionDef
    error: ast.Call
    module: Module
    class_name: str
    skip_self: bool
    """The first parameter is the object or class itself, which the call does not write."""


def bind(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    call: ast.Call,
    scope: Scope,
    *,
    skip_self: bool,
) -> dict[str, tuple[ast.expr | None, Scope]]:
    """A function's parameters with what a call gives for them; `None` for what stays open."""
    a = function.args
    names = [x.arg for x in (*a.posonlyargs, *a.args)]
    if skip_self and names:
        names = names[1:]
    bound: dict[str, tuple[ast.expr | None, Scope]] = dict.fromkeys(
        parameters(function), (None, scope)
    )
    defaults: Sequence[tuple[str, ast.expr | None]] = [
        *zip(reversed(names), reversed(a.defaults), strict=False),
        *zip((x.arg for x in a.kwonlyargs), a.kw_defaults, strict=True),
    ]
    for name, default in defaults:
        if isinstance(default, ast.Constant) and isinstance(default.value, str):
            bound[name] = (default, scope)
    for name, value in zip(names, call.args, strict=False):
        bound[name] = (None, scope) if isinstance(value, ast.Starred) else (value, scope)
    for keyword in call.keywords:
        if keyword.arg in bound:
            bound[keyword.arg] = (keyword.value, scope)
    return bound


def find_helper(call: ast.Call, scope: Scope) -> Helper | None:
    """The helper function that a call names, if it is one that ends in an exception."""
    func = call.func
    found: tuple[Module, ast.stmt] | None = None
    own = False
    if isinstance(func, ast.Name):
        if scope.function is not None and func.id in parameters(scope.function):
            return None
        found = scope.library.named(scope.module, "def", func.id)
    elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        if func.value.id in ("self", "cls"):
            own = True
            found = method_of(scope, func.attr)
        else:
            found = scope.library.named(scope.module, "def", text_of(func))
    if found is None or not isinstance(found[1], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    error = exception_made_by(found[1])
    if error is None:
        return None
    return Helper(
        not isinstance(found[1].body[-1], ast.Return),
        found[1],
        error,
        found[0],
        scope.class_name if own else "",
        own and not _is_static(found[1]),
    )


def _is_static(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(last_name(d) == "staticmethod" for d in function.decorator_list)


def method_of(scope: Scope, name: str) -> tuple[Module, ast.stmt] | None:
    """A method of the class around, or of the first base that has it."""
    found = (
        scope.library.named(scope.module, "class", scope.class_name) if scope.class_name else None
    )
    for _ in range(HOPS):
        if found is None or not isinstance(found[1], ast.ClassDef):
            return None
        for member in found[1].body:
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and member.name == name:
                return found[0], member
        bases = found[1].bases
        if not bases or not last_name(bases[0]):
            return None
        found = scope.library.named(found[0], "class", text_of(bases[0]))
    return None


def exception_made_by(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Call | None:
    """What a short straight function raises or returns at its end, if that is an exception."""
    body = [s for s in function.body if not _is_docstring(s)]
    if not body or len(body) > _SHORT_BODY:
        return None
    if not all(isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.If)
               for s in body[:-1]):  # fmt: skip
        return None
    last = body[-1]
    if isinstance(last, ast.If) and isinstance(last.body[-1], ast.Raise):
        last = last.body[-1]  # `if strict: raise ...`, else only a warning
    if isinstance(last, ast.Raise) and isinstance(last.exc, ast.Call):
        return last.exc if is_class_name(text_of(last.exc.func)) else None
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Call):
        leaf = last_name(last.value.func)
        return last.value if leaf.endswith(("Error", "Exception", "Warning")) else None
    return None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
