"""The expression of a message → the templates of the texts it can give.

Read are literals, f-strings, `%`, `.format`, concatenation, joins of written-out lists, choices
(`a if c else b`: one template each), and names: assigned above in the same function, constants of
the module, of the class, or imported. What cannot be read stays a hole.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from app.scanner.expressions import is_text, last_name
from app.scanner.scope import Assigned, Scope, parameters, values_of
from app.scanner.templates import literal_length
from app.scanner.variants import (
    Variant,
    dedented,
    format_spec,
    formatted,
    hole,
    merge,
    percent,
    stripped,
)

_MOST: Final = 8
"""Variants followed; a message with more choices than this is none a reader would list."""
_DEPTH: Final = 8
_CONVERSIONS: Final = {-1: "", 114: "r", 115: "s", 97: "a"}
_SIMPLE_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]+|_[A-Z0-9_]+")


def read(node: ast.expr | None, scope: Scope, depth: int = 0) -> list[Variant]:
    """All templates that an expression can give, at most a handful.

    Args:
        node: the expression.
        scope: where it stands.
        depth: how deep in another message; for recursion.
    """
    if node is None:
        return [[]]
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return [[node.value]] if node.value else [[]]
        return [[str(node.value)]] if isinstance(node.value, int | float) else [[hole(node)]]
    if depth > _DEPTH:
        return [[hole(node)]]
    reader = _READERS.get(type(node))
    found = reader(node, scope, depth) if reader else None
    return found if found is not None else [[hole(node)]]


def _joined(node: ast.JoinedStr, scope: Scope, depth: int) -> list[Variant]:
    variants: list[Variant] = [[]]
    for value in node.values:
        if isinstance(value, ast.Constant):
            for v in variants:
                v.append(str(value.value))
            continue
        if not isinstance(value, ast.FormattedValue):
            continue
        conversion = _CONVERSIONS.get(value.conversion, "")
        spec = format_spec(value.format_spec)
        inner = None if conversion or spec else _inlined(value.value, scope, depth)
        if inner is None:
            part = hole(value.value, conversion, spec)
            for v in variants:
                v.append(part)
        else:
            variants = [v + i for v in variants for i in inner][:_MOST]
    return [merge(v) for v in variants]


def _binary(node: ast.BinOp, scope: Scope, depth: int) -> list[Variant] | None:
    if isinstance(node.op, ast.Add):
        left = read(node.left, scope, depth + 1)
        right = read(node.right, scope, depth + 1)
        if not is_text(node) and not any(literal_length(v) for v in (*left, *right)):
            return None
        return [merge([*a, *b]) for a in left for b in right][:_MOST]
    if isinstance(node.op, ast.Mod):
        return _percent_formatted(read(node.left, scope, depth + 1), node.right)
    if (
        isinstance(node.op, ast.Mult)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.right, ast.Constant)
        and isinstance(node.left.value, str)
        and isinstance(node.right.value, int)
        and len(node.left.value) * node.right.value <= 200  # noqa: PLR2004  # a ruler, not data
    ):
        return [[node.left.value * node.right.value]]
    return None


def _percent_formatted(formats: list[Variant], values: ast.expr) -> list[Variant] | None:
    out = [
        percent(f[0], _percent_values(values))
        for f in formats
        if len(f) == 1 and isinstance(f[0], str)
    ]
    return out or None


def _percent_values(node: ast.expr) -> Sequence[ast.expr] | Mapping[str, ast.expr]:
    if isinstance(node, ast.Tuple):
        return node.elts
    if isinstance(node, ast.Dict):
        return {
            str(k.value): v
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant)
        }
    return [node]


def _choice(node: ast.IfExp, scope: Scope, depth: int) -> list[Variant]:
    return (read(node.body, scope, depth + 1) + read(node.orelse, scope, depth + 1))[:_MOST]


def _either(node: ast.BoolOp, scope: Scope, depth: int) -> list[Variant] | None:
    found = [v for value in node.values for v in read(value, scope, depth + 1)]
    worded = [v for v in found if literal_length(v)]
    return worded[:_MOST] or None


def _tuple(node: ast.Tuple | ast.List, scope: Scope, depth: int) -> list[Variant] | None:
    """`str((a, "b"))`: what an exception with several arguments, or a tuple for one, prints."""
    if any(isinstance(e, ast.Starred) for e in node.elts):
        return None
    opening, closing = ("(", ")") if isinstance(node, ast.Tuple) else ("[", "]")
    parts: Variant = [opening]
    for i, element in enumerate(node.elts):
        if i:
            parts.append(", ")
        if isinstance(element, ast.Constant):
            parts.append(repr(element.value))
        elif is_text(element):
            parts += ["'", *read(element, scope, depth + 1)[0], "'"]
        else:
            parts.append(hole(element, "r"))
    if len(node.elts) == 1 and isinstance(node, ast.Tuple):
        parts.append(",")
    parts.append(closing)
    return [merge(parts)]


def _call(  # noqa: PLR0911  # one answer a function
    node: ast.Call, scope: Scope, depth: int
) -> list[Variant] | None:
    func = node.func
    name = last_name(func)
    if name in ("str", "_", "gettext", "dedent", "cleandoc") and len(node.args) == 1:
        found = read(node.args[0], scope, depth + 1)
        return [dedented(v) for v in found] if name in ("dedent", "cleandoc") else found
    if name == "repr" and len(node.args) == 1:
        return [[hole(node.args[0], "r")]]
    if not isinstance(func, ast.Attribute):
        return None
    if name == "format":
        found = [
            made
            for v in read(func.value, scope, depth + 1)
            if len(v) == 1 and isinstance(v[0], str) and (made := formatted(v[0], node))
        ]
        return found or None
    if name in ("strip", "lstrip", "rstrip") and not node.args:
        found = read(func.value, scope, depth + 1)
        return [stripped(v, name) for v in found] if is_text(func.value) else None
    if name == "join" and isinstance(func.value, ast.Constant) and len(node.args) == 1:
        return _join(str(func.value.value), node.args[0], scope, depth)
    return None


def _join(glue: str, items: ast.expr, scope: Scope, depth: int) -> list[Variant] | None:
    if not isinstance(items, ast.List | ast.Tuple):
        return None
    parts: Variant = []
    for i, element in enumerate(items.elts):
        if isinstance(element, ast.Starred):
            return None
        if i:
            parts.append(glue)
        parts += read(element, scope, depth + 1)[0]
    return [merge(parts)]


def _named(node: ast.Name | ast.Attribute, scope: Scope, depth: int) -> list[Variant] | None:
    return _value_of(node, scope, depth, whole=True)


def _walrus(node: ast.NamedExpr, scope: Scope, depth: int) -> list[Variant]:
    return read(node.value, scope, depth + 1)


def _inlined(node: ast.expr, scope: Scope, depth: int) -> list[Variant] | None:
    """The text of a hole whose value is a constant."""
    if isinstance(node, ast.Constant):
        return [[str(node.value)]]
    if isinstance(node, ast.Name | ast.Attribute):
        return _value_of(node, scope, depth, whole=False)
    return None


def _value_of(  # noqa: C901, PLR0911  # one answer a kind of name
    node: ast.Name | ast.Attribute, scope: Scope, depth: int, *, whole: bool
) -> list[Variant] | None:
    """What a name stands for; `None` if it is not known or no text.

    Args:
        node: a name, or `self.NAME`, `cls.NAME`.
        scope: where it stands.
        depth: for recursion.
        whole: it is the whole message, so that it is worth following a variable; in a hole only
            constants are put in.
    """
    if isinstance(node, ast.Attribute):
        return _attribute(node, scope, depth)
    name = node.id
    if name in scope.bound:
        value, outer = scope.bound[name]
        return None if value is None else read(value, outer, depth + 1)
    if name in scope.caught or name in scope.busy:
        return None
    if scope.function is not None:
        if _is_assigned(scope, name, whole=whole):
            values = values_of(scope, name)
            if values:
                return _local(name, values, scope, depth, whole=whole)
        if name in parameters(scope.function):
            return None
    if not whole and not _SIMPLE_NAME.fullmatch(name) and not _at_top(scope, name):
        return None
    found = scope.library.constant(scope.module, name)
    if found is None or not _is_constant(found[1]):
        return None
    if values_of(scope, name):
        return None  # a variable of the function hides the constant
    there = Scope(found[0], scope.library, busy=scope.busy | {name})
    return read(found[1], there, depth + 1)


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | int | float) and not isinstance(node.value, bool)
    return is_text(node)


def _is_assigned(scope: Scope, name: str, *, whole: bool) -> bool:
    """Whether the block around assigns the name at all (in a hole: to something written out)."""
    if whole:
        return True
    word = name.encode()
    at = scope.text.find(word + b" = ")
    while at >= 0:
        if scope.text[at + len(word) + 3 : at + len(word) + 4] in b"\"'f(0123456789-r":
            return True
        at = scope.text.find(word + b" = ", at + 1)
    return False


def _at_top(scope: Scope, name: str) -> bool:
    text = scope.module.text
    word = name.encode()
    return (b"\n" + word + b" = ") in text or (b"\n" + word + b": ") in text


def _attribute(node: ast.Attribute, scope: Scope, depth: int) -> list[Variant] | None:
    if not isinstance(node.value, ast.Name) or not _SIMPLE_NAME.fullmatch(node.attr):
        return None
    if node.value.id in ("self", "cls"):
        owner = scope.class_name
    elif node.value.id[:1].isupper():
        owner = node.value.id
    else:
        return None
    found = scope.library.named(scope.module, "class", owner) if owner else None
    if found is None or not isinstance(found[1], ast.ClassDef):
        return None
    for statement in found[1].body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(t, ast.Name) and t.id == node.attr for t in targets):
                if not is_text(statement.value):
                    return None
                there = Scope(found[0], scope.library, class_name=owner)
                return read(statement.value, there, depth + 1)
    return None


def _local(
    name: str, values: Assigned, scope: Scope, depth: int, *, whole: bool
) -> list[Variant] | None:
    """What a variable of the function can hold at the scope's line."""
    before = [v for v in values if v[1] and v[0] < scope.line] or values
    if any(how not in ("=", "+=") for _, how, _ in before):
        return None
    plain = [v for v in before if v[1] == "="]
    if not plain or not any(is_text(v[2]) for v in plain):
        return None
    if not whole and not all(isinstance(v[2], ast.Constant) for v in plain):
        return None
    inner = replace(scope, busy=scope.busy | {name})
    out: list[Variant] = []
    for line, _, value in plain[-4:]:
        base = read(value, replace(inner, line=line), depth + 1)
        added = [v for v in before if v[1] == "+=" and v[0] > line][:4]
        longer = base
        for at, _, more in added:
            ends = read(more, replace(inner, line=at), depth + 1)
            longer = [merge([*a, *b]) for a in longer for b in ends][:4]
        out += base if longer is base else [*longer, *base]
    return out[:_MOST]


_READERS: Final[dict[type[ast.expr], Callable[..., list[Variant] | None]]] = {
    ast.JoinedStr: _joined,
    ast.BinOp: _binary,
    ast.IfExp: _choice,
    ast.BoolOp: _either,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Call: _call,
    ast.Name: _named,
    ast.Attribute: _named,
    ast.NamedExpr: _walrus,
}
