"""F-strings of Python 3.12 made readable for Python 3.11.

Since 3.12 (PEP 701) a hole may hold strings with the quotes of the f-string around it. Those inner
quotes are exchanged for the other kind, one byte for one, so that lines and columns stay.
"""

import re
from typing import Final

_STRING: Final = re.compile(rb"#[^\n]*|(?<![\w\"'])([rbuRBU]{0,2}[fF]?[rR]?)(\"\"\"|'''|\"|')")
_OTHER: Final = {b'"': b"'", b"'": b'"'}


def exchange_inner_quotes(text: bytes) -> bytes:
    """The text with the inner quotes of nested f-strings exchanged; the same if it has none."""
    out = bytearray(text)
    at = 0
    while m := _STRING.search(text, at):
        at = m.end() if m[2] is None else _string(text, m, out, b"")
    return bytes(out)


def _string(text: bytes, opening: re.Match[bytes], out: bytearray, outer: bytes) -> int:
    """Go over one string; returns where it ends. `outer` is the quote of the f-string around."""
    quote = opening[2]
    if quote == outer and len(quote) == 1:
        quote_now = _OTHER[quote]
        out[opening.start(2)] = quote_now[0]
    else:
        quote_now = quote
    formatted = b"f" in opening[1].lower()
    at = opening.end()
    while at < len(text):
        if text.startswith(quote, at):
            if quote_now != quote:
                out[at] = quote_now[0]
            return at + len(quote)
        char = text[at : at + 1]
        if char == b"\n" and len(quote) == 1:
            return at  # not closed: nothing more can be told of this line
        if char == b"\\":
            at += 2
        elif formatted and char == b"{" and text[at + 1 : at + 2] != b"{":
            at = _hole(text, at + 1, out, quote_now)
        elif formatted and char in b"{}" and text[at + 1 : at + 2] == char:
            at += 2
        else:
            at += 1
    return at


def _hole(text: bytes, at: int, out: bytearray, outer: bytes) -> int:
    """Go over one hole; returns the index after its closing brace."""
    depth = 0
    while at < len(text):
        m = _STRING.match(text, at)
        if m is not None and m[2] is not None:
            at = _string(text, m, out, outer)
            continue
        char = text[at : at + 1]
        if char in b"([{":
            depth += 1
        elif char == b"}" and depth == 0:
            return at + 1
        elif char in b")]}":
            depth -= 1
        at += 1
    return at
