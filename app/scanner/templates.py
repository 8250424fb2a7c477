r"""What a message looks like before its values are known, and how a message is recognised.

A template is text with holes. As a string it is written like the inside of an f-string:

* a hole is `{expr}`, with `!r`, `!s` or `!a` and `:format` where the source has them;
* a brace that belongs to the message is doubled, `{{` and `}}`;
* an expression that begins with a brace is set off by a space: `{ {1: 2}[x]}`.

`parse(render(parts)) == parts` holds for all templates. `skeleton` empties the holes and folds
white space: it is what identity is computed from. `pattern` is a regex without flags that matches
a whole message of the template, one group a hole; line breaks and runs of spaces in it match any
white space, since logs and terminals change them.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "ANY",
    "NUMBERS",
    "Hole",
    "Parts",
    "has_words",
    "literal_length",
    "longest_literal",
    "number_type",
    "parse",
    "pattern",
    "render",
    "sample",
    "sample_values",
    "skeleton",
]


class Hole(NamedTuple):
    """A place in a message that is filled at run time."""

    expr: str
    """The expression, as Python source."""
    conversion: str = ""
    """`r`, `s`, `a` or nothing."""
    format: str = ""
    """The format specification; holes inside it stay as `{...}`."""


Parts = Sequence[str | Hole]

_ESCAPES = {ord(c): "\\" + c for c in "\\.^$*+?{}[]|()"}
_ESCAPES[0] = r"\x00"
_ESCAPES |= dict.fromkeys(range(0xD800, 0xE000), r"[\s\S]")  # half a character: not UTF-8
_RUN = re.compile(r"\s{2,}|[^\S ]")
_LEADING = re.compile(r"\A(?:\\s\+| )+")
_TRAILING = re.compile(r"(?:\\s\+| )+\Z")
_WORD = re.compile(r"[^\W_]", re.UNICODE)
_SPEC = re.compile(r"(?:.?[<>=^])?[+\- ]?z?#?0?(\d*)[,_]?(?:\.\d+)?([a-zA-Z%]?)\Z", re.DOTALL)
_SPACES_SPECIFIC_FILL = re.compile(r"[^\s0][<>=^]")
_CONVERSION = re.compile(r"!([rsa])(?=[:}])")

ANY = r"([\s\S]*?)"
NUMBERS = {
    "d": r"( *[+-]?[\d,_]+ *)",
    "b": r"( *[+-]?[01bB_]+ *)",
    "o": r"( *[+-]?[0-7oO_]+ *)",
    "x": r"( *[+-]?[\da-fxX_]+ *)",
    "X": r"( *[+-]?[\dA-FxX_]+ *)",
    "f": r"( *[+-]?(?:[\d,_.]+|nan|inf) *)",
    "F": r"( *[+-]?(?:[\d,_.]+|NAN|INF) *)",
    "e": r"( *[+-]?(?:[\d,_.]+(?:e[+-]\d+)?|nan|inf) *)",
    "E": r"( *[+-]?(?:[\d,_.]+(?:E[+-]\d+)?|NAN|INF) *)",
    "g": r"( *[+-]?(?:[\d,_.]+(?:e[+-]\d+)?|nan|inf) *)",
    "G": r"( *[+-]?(?:[\d,_.]+(?:E[+-]\d+)?|NAN|INF) *)",
    "%": r"( *[+-]?(?:[\d,_.]+|nan|inf)% *)",
}
_ODD_VALUES = ("<v>\n(.*)", "a b", "{[1, 2]}", "\\d+ 'x'")
_SAMPLES = {"b": "101", "f": "1.50", "e": "1.5e-05", "E": "1.5E-05", "F": "1.50", "%": "12.5%"}


def render(parts: Parts) -> str:
    """Write a template as a string; see the module's grammar."""
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(
                part.replace("{", "{{").replace("}", "}}") if "{" in part or "}" in part else part
            )
        else:
            expr, conversion, spec = part
            out.append(
                "{"
                + (" " if expr.startswith("{") else "")
                + expr
                + (f"!{conversion}" if conversion else "")
                + (f":{spec}" if spec else "")
                + "}"
            )
    return "".join(out)


def _skip_string(text: str, start: int) -> int:
    """Index after the string literal that begins at `start`."""
    quote = text[start]
    delimiter = quote * 3 if text.startswith(quote * 3, start) else quote
    i = start + len(delimiter)
    while i < len(text):
        if text[i] == "\\":
            i += 2
        elif text.startswith(delimiter, i):
            return i + len(delimiter)
        else:
            i += 1
    raise ValueError(f"a string in a hole is not closed: {text[start:]!r}")


def _read_hole(  # noqa: C901  # the states of a small scanner
    text: str, start: int
) -> tuple[Hole, int]:
    """Read the hole whose `{` is at `start`; returns it and the index after its `}`."""
    depth, i, end_of_expr, spec_from = 0, start + 1, -1, -1
    conversion = ""
    while i < len(text):
        char = text[i]
        if spec_from < 0 and char in "'\"":
            i = _skip_string(text, i)
            continue
        if char in "([{":
            depth += 1
        elif char == "}" and depth == 0:
            expr = text[start + 1 : i if end_of_expr < 0 else end_of_expr]
            spec = text[spec_from:i] if spec_from >= 0 else ""
            if expr.startswith(" {"):
                expr = expr[1:]
            return Hole(expr, conversion, spec), i + 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and spec_from < 0:
            if char == "!" and (m := _CONVERSION.match(text, i)):
                conversion, end_of_expr = m[1], i
                i = m.end()
                continue
            if char == ":":
                if end_of_expr < 0:
                    end_of_expr = i
                spec_from = i + 1
        i += 1
    raise ValueError(f"a hole is not closed: {text[start:]!r}")


def parse(template: str) -> list[str | Hole]:
    """Read a template string.

    Raises:
        ValueError: a brace that is neither doubled nor part of a hole.
    """
    if "{" not in template and "}" not in template:
        return [template] if template else []
    parts: list[str | Hole] = []
    literal: list[str] = []
    i, n = 0, len(template)
    while i < n:
        char = template[i]
        if char in "{}":
            if template.startswith(char, i + 1):
                literal.append(char)
                i += 2
                continue
            if char == "}":
                raise ValueError(f"a single '}}' in the template: {template!r}")
            if literal:
                parts.append("".join(literal))
                literal = []
            hole, i = _read_hole(template, i)
            parts.append(hole)
            continue
        stop = i + 1
        while stop < n and template[stop] not in "{}":
            stop += 1
        literal.append(template[i:stop])
        i = stop
    if literal:
        parts.append("".join(literal))
    return parts


def skeleton(template: str | Parts) -> str:
    """The template with empty holes and folded white space."""
    parts = parse(template) if isinstance(template, str) else template
    text = "".join(
        part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else "{}"
        for part in parts
    )
    return " ".join(text.split())


def literal_length(parts: Parts) -> int:
    """How many letters and digits of the message are fixed."""
    return sum(len(_WORD.findall(part)) for part in parts if isinstance(part, str))


def has_words(parts: Parts) -> bool:
    """Whether any letter or digit of the message is fixed."""
    return any(isinstance(part, str) and _WORD.search(part) for part in parts)


def longest_literal(template: str | Parts) -> str:
    """The longest fixed part."""
    parts = parse(template) if isinstance(template, str) else template
    return max((p for p in parts if isinstance(p, str)), key=len, default="")


def _literal(text: str, *, first: bool, last: bool) -> str:
    """A fixed part as a regex; only single spaces are sure to be kept by terminals and logs."""
    out = text.translate(_ESCAPES)
    if not text.isprintable() or "  " in text:
        out = _RUN.sub(r"\\s+", out)
    if first and text[:1].isspace():
        out = r"\s*" + _LEADING.sub("", out)
    if last and text[-1:].isspace():
        out = _TRAILING.sub("", out) + r"\s*"
    return out


def number_type(spec: str) -> str | None:
    """The type letter of a numeric format specification; `None` if it is not surely one."""
    m = _SPEC.match(spec)
    if not m or not spec or _SPACES_SPECIFIC_FILL.match(spec):
        return None
    return m[2] if m[2] in NUMBERS else None


def pattern(parts: Parts, *, quoted: bool = False) -> str:
    """A regex that a whole message of the template matches, one group a hole.

    Args:
        parts: the template.
        quoted: the message may come in quotes, as `str(KeyError("..."))` does.
    """
    out = []
    last = len(parts) - 1
    for i, part in enumerate(parts):
        if isinstance(part, str):
            out.append(_literal(part, first=i == 0, last=i == last))
            continue
        number = number_type(part.format) if part.format and not part.conversion else None
        if number:
            out.append(NUMBERS[number])
        elif i < last and _is_free(parts[i + 1]):
            out.append("()")  # two holes side by side cannot be told apart: the second has both
        else:
            out.append(ANY)
    text = "".join(out)
    return f"[\"']?{text}[\"']?" if quoted else text


def _is_free(part: str | Hole) -> bool:
    return not isinstance(part, str) and not (
        part.format and not part.conversion and number_type(part.format)
    )


def sample(parts: Parts) -> str:
    """A message of the template, with made-up values that fit the holes' formats."""
    values = iter(sample_values(parts))
    return "".join(part if isinstance(part, str) else next(values) for part in parts)


def sample_values(parts: Parts) -> list[str]:
    """Made-up values for the holes of a template, in order."""
    values: list[str] = []
    for part in parts:
        if isinstance(part, str):
            continue
        number = number_type(part.format) if part.format and not part.conversion else None
        values.append(_SAMPLES.get(number, "17") if number else _ODD_VALUES[len(values) % 4])
    return values
