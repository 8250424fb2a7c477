"""Calls of checks in C++ and CUDA text: found by name, cut at their commas.

Brackets are balanced and strings skipped; comments are expected to be blanked already.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

_NAMES: Final = (
    r"(?:RuntimeCheck|RuntimeDeviceCheck|Panic|panic)"
    r"|TORCH_CHECK(?:_[A-Z_]+)?|STD_TORCH_CHECK(?:_[A-Z_]+)?|TORCH_INTERNAL_ASSERT(?:_DEBUG_ONLY)?"
    r"|TORCH_WARN(?:_ONCE|_DEPRECATION)?|AT_ERROR|AT_ASSERT(?:M)?"
    r"|(?:TVM_FFI_)?I?CHECK(?:_(?:EQ|NE|LT|LE|GT|GE|NOTNULL|HOST|CUDA|DIM|DEVICE|INPUT|SHAPE))?"
    r"|TVM_FFI_(?:LOG_AND_)?THROW|CHECK_[A-Z][A-Z_0-9]+"
    r"|FLASHINFER_(?:CHECK|ERROR)|TLLM_(?:CHECK(?:_WITH_INFO)?|THROW)"
    r"|DG_(?:HOST_ASSERT|STATIC_ASSERT|DEVICE_ASSERT|HOST_UNREACHABLE)"
    r"|EP_(?:HOST|STATIC|DEVICE)_ASSERT|CUTE_STATIC_ASSERT(?:_V)?|CUTE_INVALID_CONTROL_PATH"
    r"|(?:C10_)?CUDA_(?:CHECK|KERNEL_LAUNCH_CHECK|DRIVER_CHECK|RT_CHECK)"
    r"|static_assert|assert|FLASHMLA_ASSERT|KU_ASSERT|MSCCLPP_\w*CHECK\w*|CUTLASS_\w*ASSERT\w*"
)
_NAME: Final = re.compile(_NAMES)
_PARTS: Final = (
    "CHECK", "Check", "ASSERT", "assert", "anic", "THROW", "_ERROR", "TORCH_WARN", "UNREACHABLE",
    "CONTROL_PATH", "throw",
)  # fmt: skip
"""Every name above holds one of these, and few other words do."""
MARKS: Final = (*(part.encode() for part in _PARTS), b"#error", b"# error")
_REST: Final = re.compile(r"\w*")
_OPENS: Final = re.compile(r"\s*\(")
_THROWS: Final = re.compile(r"throw\s+((?:\w+::)*\w+)\s*[({]")
_STREAMS: Final = re.compile(r"(?:TVM_FFI_)?I?CHECK(?:_|$)|TVM_FFI_\w*THROW|AT_ERROR")
STRING: Final = re.compile(r'(?:u8|[uUL])?"((?:[^"\\\n]|\\.)*)"')
_DEFINE: Final = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_DEFINED: Final = re.compile(r"[ \t]*#[ \t]*define\s+\w*")
_DECLARED: Final = re.compile(
    r"\b(void|inline|auto|bool|int|__device__|__forceinline__|constexpr|class|struct)\s+$"
)
_LONGEST_TAIL: Final = 800
_LONGEST_CALL: Final = 20_000


class Check(NamedTuple):
    """A call of a check, or a `throw`, cut into its parts."""

    name: str
    thrown: bool
    start: int
    end: int
    """Index of the closing bracket."""
    arguments: list[str]
    tail: str
    """What follows up to the semicolon, where it is streamed into the check."""


def checks(text: str) -> Iterator[Check]:
    """All calls of checks in a text, in order; those in macros where they are defined."""
    defines = [(m.start(), m.end()) for m in _DEFINE.finditer(text)]
    starts = [start for start, _ in defines]
    for name, begin, opening in _calls(text):
        thrown = text.startswith("throw", begin)
        i = bisect_right(starts, begin) - 1
        last = len(text)
        if i >= 0 and begin < defines[i][1]:
            last = defines[i][1]
            if _DEFINED.match(text, defines[i][0]).end() == opening:  # type: ignore[union-attr]  # _DEFINE matched there
                continue  # the name that is being defined
        elif _DECLARED.search(text, max(0, begin - 24), begin):
            continue
        end = closing(text, opening)
        if end is None or end > last:
            continue
        tail = ""
        if not thrown and _STREAMS.match(name):
            stop = _semicolon(text, end + 1, min(last, end + 1 + _LONGEST_TAIL))
            tail = text[end + 1 : stop]
            tail = tail if tail.lstrip().startswith("<<") else ""
        body = text[opening + 1 : end]
        if last < len(text):
            body, tail = body.replace("\\\n", " \n"), tail.replace("\\\n", " \n")
        yield Check(name, thrown, begin, end + len(tail), split(body, ","), tail)


def _semicolon(text: str, start: int, stop: int) -> int:
    """Index of the semicolon that ends a statement, strings skipped; `stop` if there is none."""
    i = start
    while i < stop:
        if text[i] == '"':
            string = STRING.match(text, i)
            i = string.end() if string else i + 1
        elif text[i] == ";":
            return i
        else:
            i += 1
    return stop


def _calls(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and opening bracket of all calls of checks, and of all `throw`s, in order."""
    found = {}
    for part in _PARTS:
        at = text.find(part)
        while at >= 0:
            begin = at
            while begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
                begin -= 1
            end = _REST.match(text, at).end()  # type: ignore[union-attr]  # matches anything
            name = text[begin:end]
            if name == "throw":
                if m := _THROWS.match(text, begin):
                    found[begin] = (m[1], m.end() - 1)
            elif (
                begin not in found
                and _NAME.fullmatch(name)
                and (m := _OPENS.match(text, end)) is not None
            ):
                found[begin] = (name, m.end() - 1)
            at = text.find(part, end)
    return ((name, begin, opening) for begin, (name, opening) in sorted(found.items()))


def closing(text: str, opening: int) -> int | None:
    """Index of the bracket that closes the one at `opening`, strings skipped."""
    depth = 0
    i, stop = opening, min(len(text), opening + _LONGEST_CALL)
    while i < stop:
        char = text[i]
        if char == '"':
            string = STRING.match(text, i)
            i = string.end() if string else i + 1
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    return None


def split(body: str, separator: str) -> list[str]:
    """Cut at a separator outside of brackets and strings."""
    parts, depth, begin, i = [], 0, 0, 0
    while i < len(body):
        char = body[i]
        if char == '"':
            string = STRING.match(body, i)
            i = string.end() if string else i + 1
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and body.startswith(separator, i):
            parts.append(body[begin:i].strip())
            i += len(separator)
            begin = i
            continue
        i += 1
    parts.append(body[begin:].strip())
    return parts if parts != [""] else []
