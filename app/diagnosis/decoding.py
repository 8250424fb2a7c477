"""Bytes of a log → its text: the mark of its coding is heeded, and what is no text is refused."""

import codecs
from typing import BinaryIO, Final

from app.exceptions import BadInputError

_MARKS: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))
"""Marks that an editor or a shell on Windows puts before a text."""
LOOKED_AT: Final = 1 << 16
"""Characters by which text is told from anything else."""
_MOST_ODD: Final = 0.1
"""Share of characters that no text has, above which it is none."""
_PLAIN: Final = "\t\n\r\f\b\x1b\x00"
"""Control characters that logs do have; a preallocated file ends in zeros."""
_MOST_ZEROS: Final = 0.3


def coding_of(raw: bytes) -> tuple[str, int]:
    """(coding, bytes of its mark) by the first bytes of a text; UTF-8 if they do not say."""
    return next(((c, len(mark)) for mark, c in _MARKS if raw.startswith(mark)), ("utf-8", 0))


def decoded(raw: bytes) -> str:
    """A log as text; bytes that are none in its coding are replaced.

    Raises:
        BadInputError: it is no text.
    """
    coding, mark = coding_of(raw)
    text = raw[mark:].decode(coding, "replace")
    check(text[:LOOKED_AT])
    return text


def check(start: str) -> None:
    """Refuse what is no text.

    Args:
        start: its first characters.

    Raises:
        BadInputError: too many of them are none that a log has.
    """
    if start.isascii() and start.isprintable():
        return
    size = max(1, len(start.rstrip("\x00")))
    odd = start.count("\ufffd") + sum(c < " " and c not in _PLAIN for c in start)
    if odd > _MOST_ODD * size or start.rstrip("\x00").count("\x00") > _MOST_ZEROS * size:
        raise BadInputError(
            "This is no text: most of it are bytes that no log has. Give the log as plain text, "
            "or packed with gzip or zstd."
        )


class Recoded:
    """A stream in UTF-8 of one in another coding."""

    def __init__(self, stream: BinaryIO, head: bytes, coding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(coding)("replace")
        self._ready = self._decoder.decode(head).encode()

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end."""
        while not self._ready:
            part = self._stream.read(size)
            self._ready = self._decoder.decode(part, final=not part).encode()
            if not part:
                break
        part, self._ready = self._ready[:size], self._ready[size:]
        return part
