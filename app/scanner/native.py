"""Checks in C++ and CUDA sources: macros, `throw`, `static_assert`, `#error`.

There is no parser for these here: comments are blanked, calls of known macros are found, and their
arguments are cut at the commas that are outside of brackets and strings. What a check prints is its
text arguments and, as holes, the others; what is streamed into it with `<<` counts as well.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from app.scanner.finish import Finisher, Spot
from app.scanner.guards import Guard
from app.scanner.native_calls import MARKS, STRING, Check, checks, closing, split
from app.scanner.records import ScannedSite
from app.scanner.templates import Hole
from app.scanner.variants import Variant, merge

SUFFIXES: Final = (
    ".cuh", ".cu", ".h", ".cpp", ".hpp", ".hip", ".cc", ".c", ".inl", ".mm", ".metal",
)  # fmt: skip

_NO_CONDITION: Final = re.compile(
    r"[Pp]anic|AT_ERROR|FLASHINFER_ERROR|TLLM_THROW|TVM_FFI_\w*THROW|TORCH_WARN\w*|\w*UNREACHABLE"
    r"|CUTE_INVALID_CONTROL_PATH"
)
_COMPARES: Final = re.compile(r"CHECK_(EQ|NE|LT|LE|GT|GE)$")
_OPERATORS: Final = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_PRINTF: Final = frozenset({"TLLM_CHECK_WITH_INFO", "TLLM_THROW"})
_TYPED: Final = frozenset({"TVM_FFI_THROW", "TVM_FFI_LOG_AND_THROW"})
_STATIC: Final = frozenset({"static_assert", "CUTE_STATIC_ASSERT", "CUTE_STATIC_ASSERT_V",
                            "DG_STATIC_ASSERT", "EP_STATIC_ASSERT"})  # fmt: skip
"""Their condition may have commas in its `<...>`."""
_ONLY_STRINGS: Final = re.compile(r'\s*(?:(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"\s*)+\Z')
_TOKEN: Final = re.compile(r'(?:u8|[uUL])?"((?:[^"\\\n]|\\.)*)"|#\s*(\w+)')
_STRINGIZED: Final = re.compile(rf"\s*(?:(?:{_TOKEN.pattern})\s*)+\Z")
"""`#x " must be contiguous"`: in a macro, the text of its argument."""
_COMMENT: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.){1,4}\'|//[^\n]*|/\*[\s\S]*?\*/'
)
_NOT_NEWLINE: Final = re.compile(r"[^\n]")
_ERROR: Final = re.compile(r"^[ \t]*#[ \t]*error\b((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_IF: Final = re.compile(r"\bif\s*(?:constexpr\s*)?\(")
_FUNCTION: Final = re.compile(r"^ {0,2}(?![ #}/])[^\n;{}()]*?\b([A-Za-z_]\w*)\s*\(", re.MULTILINE)
_NO_FUNCTION: Final = frozenset(
    {"if", "constexpr", "for", "while", "switch", "return", "catch", "sizeof", "else", "do",
     "defined", "decltype", "alignas", "__attribute__", "__launch_bounds__", "static_assert",
     "requires"}
)  # fmt: skip
_AFTER_PARAMETERS: Final = re.compile(
    r"\s*(?:const|noexcept|override|final|->[\w:<>\s&*,]+|\s)*[{:]"
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_ESCAPE: Final = re.compile(r"\\(.)")
_FORMAT_HOLE: Final = re.compile(r"\{(\d*)(?::([^{}]*))?\}")
_PRINTF_HOLE: Final = re.compile(
    r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh?|ll?|z|j|t)?([diouxXeEfgGcsp%])"
)


def read_native(
    path: str, raw: bytes, finish: Finisher, skip: Sequence[str] = ()
) -> list[ScannedSite]:
    """The checks of one C++ or CUDA file, in order.

    Args:
        path: of the file, from the wheel's root.
        raw: its bytes.
        finish: makes the sites.
        skip: pieces of text of `#error` lines that are left out.
    """
    if not any(mark in raw for mark in MARKS):
        return []
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    text = _COMMENT.sub(_blank, text)
    lines = [m.end() for m in re.finditer("\n", text)]
    functions = _Functions(text)
    sites = []
    for m in _ERROR.finditer(text):
        words = " ".join(m[1].replace("\\\n", " ").split()).strip('"')
        if words and not any(piece in words for piece in skip):
            spot = Spot(path, "", *(bisect_right(lines, at) + 1 for at in m.span()))
            sites.append(finish.site("native", "#error", [words], "literal", spot))
    for check in checks(text):
        line = bisect_right(lines, check.start) + 1
        spot = Spot(path, functions.at(check.start), line, bisect_right(lines, check.end) + 1)
        condition, message = _parts(check)
        guards = []
        if not condition:
            condition, at = _if_before(text, check.start)
            if condition:
                guards = [Guard(condition, "if", bisect_right(lines, at) + 1)]
        else:
            guards = [Guard(condition, "check", line)]
        name = check.name.rpartition("::")[2]
        sites.append(finish.site("native", name, message, _form(message), spot, guards=guards))
    sites.sort(key=lambda s: s.line)
    return sites


def _blank(m: re.Match[str]) -> str:
    found = m[0]
    return found if found[0] in "\"'" else _NOT_NEWLINE.sub(" ", found)


def _form(message: Variant) -> str:
    if not message:
        return "none"
    return "literal" if len(message) == 1 and isinstance(message[0], str) else "stream"


def _parts(check: Check) -> tuple[str, Variant]:
    """The condition of a check, on one line, and its message."""
    arguments = check.arguments
    condition = ""
    compared = None if check.thrown else _COMPARES.search(check.name)
    if check.name in _TYPED:
        arguments = arguments[1:]
    elif check.name in _STATIC:
        texts = [i for i, a in enumerate(arguments) if _ONLY_STRINGS.match(a)]
        first = texts[0] if texts else len(arguments)
        condition, arguments = ", ".join(arguments[:first]), arguments[first:]
    elif check.name.startswith("CHECK_") and not any('"' in a for a in arguments):
        condition, arguments = ", ".join(arguments), []  # a macro of the file's own
    elif compared and len(arguments) >= 2:  # noqa: PLR2004  # what is compared
        condition = f"{arguments[0]} {_OPERATORS[compared[1]]} {arguments[1]}"
        arguments = arguments[2:]
    elif arguments and not check.thrown and not _NO_CONDITION.fullmatch(check.name):
        condition, arguments = arguments[0], arguments[1:]
        cut = split(condition, "&&")
        if check.name == "assert" and cut and _ONLY_STRINGS.match(cut[-1]):
            condition, arguments = " && ".join(cut[:-1]), [cut[-1]]
    streamed = split(check.tail, "<<") if check.tail else []
    pieces = [*arguments, *(s for s in streamed if s)]
    formatted = _formatted(check.name, pieces)
    message = merge([p for piece in pieces for p in _piece(piece)])
    return " ".join(condition.split()), formatted if formatted is not None else message


def _piece(text: str) -> Variant:
    """One argument of a message: text, an expression, or both joined with `+`."""
    if _ONLY_STRINGS.match(text):
        return [_unescaped("".join(STRING.findall(text)))]
    if '"' in text:
        if _STRINGIZED.match(text):
            return merge([_token(m) for m in _TOKEN.finditer(text)])
        added = split(text, "+")
        if len(added) > 1:
            return merge([p for piece in added for p in _piece(piece)])
        inner = re.fullmatch(r"(?:\w+::)*\w+\s*\((.*)\)", text, re.DOTALL)
        if inner and not text.startswith(("std::to_string", "to_string")):
            arguments = split(inner[1], ",")
            made = _formatted("format", arguments)
            if made is not None:
                return made
            if len(arguments) == 1:
                return _piece(arguments[0])
    words = " ".join(text.split())
    wrapped = re.fullmatch(r"(?:std::)?to_string\s*\((.*)\)", words)
    return [Hole(wrapped[1] if wrapped else words)] if words else []


def _token(m: re.Match[str]) -> str | Hole:
    return Hole(m[2]) if m[2] else _unescaped(m[1])


def _formatted(name: str, pieces: Sequence[str]) -> Variant | None:
    """`("x {} y", a)` and, for the macros that take it, `("x %d y", a)`; `None` for neither."""
    if not pieces or not _ONLY_STRINGS.match(pieces[0]):
        return None
    text = _unescaped("".join(STRING.findall(pieces[0])))
    values = [" ".join(p.split()) for p in pieces[1:]]
    holes = _PRINTF_HOLE if name in _PRINTF else _FORMAT_HOLE
    if name not in _PRINTF and (name != "format" or not _FORMAT_HOLE.search(text)):
        return None
    parts: Variant = []
    end = used = 0
    for m in holes.finditer(text):
        parts.append(text[end : m.start()])
        end = m.end()
        if m[0] == "%%":
            parts.append("%")
            continue
        parts.append(Hole(values[used] if used < len(values) else "_"))
        used += 1
    parts.append(text[end:])
    return merge(parts)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), text) if "\\" in text else text


def _if_before(text: str, at: int) -> tuple[str, int]:
    """The `if (...)` right before a statement, its condition on one line."""
    begin = max(text.rfind(";", 0, at), text.rfind("}", 0, at)) + 1
    found = list(_IF.finditer(text, max(begin, at - 600), at))
    if not found:
        return "", at
    opening = found[-1].end() - 1
    end = closing(text, opening)
    if end is None or text[end + 1 : at].strip() not in ("", "{"):
        return "", at
    return " ".join(text[opening + 1 : end].split()), found[-1].start()


class _Functions:
    """Which function an offset is in, as far as the layout of the file tells."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._names: list[str] = []
        for m in _FUNCTION.finditer(text):
            if m[1] in _NO_FUNCTION:
                continue
            end = closing(text, m.end() - 1)
            if end is not None and _AFTER_PARAMETERS.match(text, end + 1, end + 300):
                self._starts.append(m.start())
                self._names.append(m[1])

    def at(self, offset: int) -> str:
        i = bisect_right(self._starts, offset) - 1
        return self._names[i] if i >= 0 else ""
