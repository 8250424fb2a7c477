"""Pieces of a message put together: text and holes, `%` and `.format` formats, trimmed text."""

import ast
import re
import string
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from app.scanner.expressions import text_of
from app.scanner.templates import Hole, literal_length

Variant = list[str | Hole]
"""The parts of one template; adjacent text is joined."""

_PERCENT: Final = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[#0\- +]*)(?P<width>\*|\d+)?(?:\.(?P<prec>\*|\d+))?"
    r"[hlL]?(?P<type>[diouxXeEfFgGcrsa%])"
)
_INTEGERS: Final = {"d": "d", "i": "d", "u": "d", "o": "o", "x": "x", "X": "X"}


def merge(parts: Sequence[str | Hole]) -> Variant:
    """Join adjacent text and drop empty text."""
    out: Variant = []
    for part in parts:
        if isinstance(part, str):
            if not part:
                continue
            if out and isinstance(out[-1], str):
                out[-1] += part
                continue
        out.append(part)
    return out


def hole(node: ast.AST, conversion: str = "", spec: str = "") -> Hole:
    """The hole an expression makes."""
    text = text_of(node)
    if isinstance(node, ast.Lambda | ast.NamedExpr | ast.Yield):
        text = f"({text})"
    return Hole(text, conversion, spec)


def best_first(variants: list[Variant]) -> list[Variant]:
    """Distinct variants, those with words; the richest first. One without words if none has any."""
    if len(variants) < 2:  # noqa: PLR2004  # nothing to choose
        return variants
    seen: set[tuple[str | Hole, ...]] = set()
    out = []
    for variant in sorted(variants, key=literal_length, reverse=True):
        key = tuple(variant)
        if key not in seen:
            seen.add(key)
            out.append(variant)
    worded = [v for v in out if literal_length(v)]
    return worded or out[:1]


def format_spec(node: ast.expr | None) -> str:
    """The format specification of an f-string's hole, holes in it as `{...}`."""
    if not isinstance(node, ast.JoinedStr):
        return ""
    out = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            out.append(str(value.value))
        elif isinstance(value, ast.FormattedValue):
            out.append("{" + text_of(value.value) + "}")
    return "".join(out)


def percent(text: str, values: Sequence[ast.expr] | Mapping[str, ast.expr]) -> Variant:
    """The template of `text % values`; values that are not given stay `_`."""
    parts: Variant = []
    end = position = 0
    for m in _PERCENT.finditer(text):
        parts.append(text[end : m.start()])
        end = m.end()
        kind = m["type"]
        if kind == "%":
            parts.append("%")
            continue
        position += (m["width"] == "*") + (m["prec"] == "*")
        value: ast.expr | None = None
        if isinstance(values, Mapping):
            value = values.get(m["key"] or "")
        elif position < len(values):
            value = values[position]
        position += 1
        precision = f".{m['prec']}" if m["prec"] and m["prec"] != "*" else ""
        spec = _INTEGERS.get(kind) or (precision + kind if kind in "eEfFgG" else "")
        conversion = kind if kind in "ra" else ""
        if value is None:
            parts.append(Hole(m["key"] or "_", conversion, spec))
        else:
            parts.append(hole(value, conversion, spec))
    parts.append(text[end:])
    return merge(parts)


def formatted(text: str, call: ast.Call) -> Variant | None:
    """The template of `text.format(...)`; `None` where the text is no format."""
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    parts: Variant = []
    auto = 0
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return None
    for literal, name, spec, conversion in fields:
        parts.append(literal)
        if name is None:
            continue
        base = re.split(r"[.\[]", name, maxsplit=1)[0]
        value: ast.expr | None
        if not base or base.isdigit():
            index = int(base) if base else auto
            auto += not base
            value = call.args[index] if index < len(call.args) else None
        else:
            value = keywords.get(base)
        if value is None or isinstance(value, ast.Starred):
            made = Hole(name or "_", conversion or "", spec or "")
        else:
            made = hole(value, conversion or "", spec or "")
            made = made._replace(expr=made.expr + name[len(base) :])
        parts.append(made)
    return merge(parts)


def dedented(variant: Variant) -> Variant:
    """A text without the margin of its lines."""
    if len(variant) == 1 and isinstance(variant[0], str):
        return merge([textwrap.dedent(variant[0])])
    return merge([re.sub(r"\n[ \t]+", "\n", p) if isinstance(p, str) else p for p in variant])


def stripped(variant: Variant, how: str) -> Variant:
    """A text without white space at its ends: `strip`, `lstrip` or `rstrip`."""
    out = list(variant)
    if out and how != "rstrip" and isinstance(out[0], str):
        out[0] = out[0].lstrip()
    if out and how != "lstrip" and isinstance(out[-1], str):
        out[-1] = out[-1].rstrip()
    return merge(out)
