"""Expressions as one line of normal Python text.

`text_of` gives what `ast.unparse` gives, several times faster for the shapes that guards and holes
mostly have; operators whose operands would need brackets are left to `ast.unparse`.
"""

import ast
from collections.abc import Callable
from typing import Final

_COMPARE: Final = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_ARITHMETIC: Final = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_BRACKETS: Final = {ast.Tuple: ("(", ")"), ast.List: ("[", "]"), ast.Set: ("{", "}")}
_LONG_ROW: Final = 30
_PLAIN: Final = (int, str, bool, type(None))
LONGEST: Final = 2000
"""Longer expressions (tables in generated code) are cut, with an ellipsis."""


def _name(node: ast.Name) -> str:
    return node.id


def _attribute(node: ast.Attribute) -> str | None:
    value = _atom(node.value)
    return None if value is None or value[0].isdigit() else f"{value}.{node.attr}"


def _constant(node: ast.Constant) -> str | None:
    return repr(node.value) if type(node.value) in _PLAIN else None


def _call(node: ast.Call) -> str | None:
    func = _atom(node.func)
    if func is None or len(node.args) + len(node.keywords) > 4:  # noqa: PLR2004  # longer is rare
        return None
    args = []
    for arg in node.args:
        text = _quick(arg)
        if text is None:
            return None
        args.append(text)
    for keyword in node.keywords:
        text = _quick(keyword.value)
        if text is None or keyword.arg is None:
            return None
        args.append(f"{keyword.arg}={text}")
    return f"{func}({', '.join(args)})"


def _subscript(node: ast.Subscript) -> str | None:
    value = _atom(node.value)
    if value is None:
        return None
    index = (
        f"-{node.slice.operand.value!r}"
        if type(node.slice) is ast.UnaryOp
        and type(node.slice.op) is ast.USub
        and type(node.slice.operand) is ast.Constant
        else _atom(node.slice)
    )
    return None if index is None else f"{value}[{index}]"


def _compare(node: ast.Compare) -> str | None:
    out = _operand(node.left)
    if out is None:
        return None
    for op, operand in zip(node.ops, node.comparators, strict=True):
        text = _operand(operand)
        if text is None:
            return None
        out += f" {_COMPARE[type(op)]} {text}"
    return out


def _arithmetic(node: ast.BinOp) -> str | None:
    left = _atom(node.left)
    right = _atom(node.right) if left is not None else None
    return None if right is None else f"{left} {_ARITHMETIC[type(node.op)]} {right}"


def _row(node: ast.Tuple | ast.List | ast.Set) -> str | None:
    if not node.elts or len(node.elts) > _LONG_ROW:
        return None
    texts = []
    for element in node.elts:
        text = _operand(element)
        if text is None:
            return None
        texts.append(text)
    opening, closing = _BRACKETS[type(node)]
    comma = "," if len(texts) == 1 and type(node) is ast.Tuple else ""
    return f"{opening}{', '.join(texts)}{comma}{closing}"


def _negative(node: ast.UnaryOp) -> str | None:
    if type(node.op) is ast.USub and type(node.operand) is ast.Constant:
        value = node.operand.value
        return f"-{value!r}" if type(value) is int else None
    return None


def _not(node: ast.UnaryOp) -> str | None:
    if type(node.op) is not ast.Not:
        return None
    text = _compare(node.operand) if type(node.operand) is ast.Compare else _atom(node.operand)
    return None if text is None else f"not {text}"


def _boolean(node: ast.BoolOp) -> str | None:
    texts = []
    for value in node.values:
        text = None if type(value) is ast.BoolOp else _quick(value)
        if text is None:
            return None
        texts.append(text)
    return (" and " if type(node.op) is ast.And else " or ").join(texts)


def _joined(_node: ast.expr) -> None:
    return None


_ATOMS: Final[dict[type[ast.expr], Callable[..., str | None]]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Subscript: _subscript,
}
_QUICK: Final[dict[type[ast.expr], Callable[..., str | None]]] = {
    **_ATOMS,
    ast.Compare: _compare,
    ast.UnaryOp: _not,
    ast.BoolOp: _boolean,
    ast.BinOp: _arithmetic,
    ast.Tuple: _row,
    ast.List: _row,
    ast.Set: _row,
}


_OPERANDS: Final[dict[type[ast.expr], Callable[..., str | None]]] = {
    **_ATOMS,
    ast.BinOp: _arithmetic,
    ast.Tuple: _row,
    ast.List: _row,
    ast.Set: _row,
    ast.UnaryOp: _negative,
}
"""What needs no brackets beside a comparison, in a call or in a row."""


def _operand(node: ast.expr) -> str | None:
    return _OPERANDS.get(type(node), _joined)(node)


def _atom(node: ast.expr) -> str | None:
    return _ATOMS.get(type(node), _joined)(node)


def _quick(node: ast.expr) -> str | None:
    return _QUICK.get(type(node), _joined)(node)


def text_of(node: ast.AST) -> str:
    """One line of Python; an ellipsis where even `ast.unparse` gives up."""
    text = _quick(node) if isinstance(node, ast.expr) else None
    if text is None:
        try:
            text = ast.unparse(node)
        except (ValueError, RecursionError, AttributeError):
            return "..."
        if "\n" in text:
            text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def last_name(node: ast.expr) -> str:
    """`a.b.C` → `C`, `C` → `C`, anything else → nothing."""
    if type(node) is ast.Name:
        return node.id
    return node.attr if type(node) is ast.Attribute else ""


def is_text(node: ast.AST | None) -> bool:  # noqa: PLR0911  # one answer a kind of node
    """Whether an expression is surely built as text: a literal in it, not just a name."""
    kind = type(node)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if kind is ast.JoinedStr:
        return True
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Mod):
            return is_text(node.left) or is_text(node.right)
        return isinstance(node.op, ast.Mult) and is_text(node.left)
    if isinstance(node, ast.IfExp):
        return is_text(node.body) or is_text(node.orelse)
    if isinstance(node, ast.BoolOp):
        return any(is_text(v) for v in node.values)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("dedent", "cleandoc", "_"):
            return bool(node.args) and is_text(node.args[0])
        return (
            isinstance(node.func, ast.Attribute)
            and name in ("format", "strip", "lstrip", "rstrip", "join", "replace")
            and is_text(node.func.value)
        )
    return False


def is_class_name(name: str) -> bool:
    """Whether a dotted name's last part is written like a class."""
    leaf = name.rpartition(".")[2].lstrip("_")
    return leaf[:1].isupper()
