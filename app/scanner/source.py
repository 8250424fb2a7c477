r"""Python source as bytes that the parser can take: encoding, byte order mark and line ends.

The result is UTF-8 with `\n` line ends and as many lines as the file has, so that offsets, line
numbers and the parser's columns agree whatever the file was written with.
"""

import codecs
import re
from typing import NamedTuple

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


class Source(NamedTuple):
    """A file's text and what was wrong with it."""

    text: bytes
    """UTF-8, `\n` line ends, no byte order mark."""
    problem: str | None = None
    """Why Python itself would not read it, `None` if it would."""


def read_source(raw: bytes) -> Source:
    """Make a file's bytes readable; never fails, tells what it had to mend."""
    problem = None
    if raw.startswith(codecs.BOM_UTF8):
        raw = raw[3:]
    elif raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = raw.decode("utf-16", "replace").encode("utf-8", "replace")
        problem = "written in UTF-16, which Python does not read"
    if not raw.isascii():
        raw, problem = _to_utf8(raw, problem)
    if b"\0" in raw:
        raw = raw.replace(b"\0", b" ")
        problem = problem or "holds null bytes"
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return Source(raw, problem)


def _to_utf8(raw: bytes, problem: str | None) -> tuple[bytes, str | None]:
    encoding = declared_encoding(raw)
    if encoding not in (None, "utf-8"):
        try:
            return raw.decode(str(encoding)).encode("utf-8", "replace"), problem
        except (LookupError, UnicodeDecodeError):
            problem = problem or f"declares the encoding {encoding} but is not written in it"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        problem = problem or f"not UTF-8 at line {line}; the bytes there were replaced"
        raw = raw.decode("utf-8", "replace").encode("utf-8")
    return raw, problem


def declared_encoding(raw: bytes) -> str | None:
    """The encoding that a comment in the first two lines names (PEP 263)."""
    for line in raw.split(b"\n", 2)[:2]:
        if m := _CODING.match(line):
            name = m[1].decode("ascii", "replace").lower().replace("_", "-")
            return "utf-8" if name in ("utf8", "utf-8") else name
    return None
