"""Unpacks a compressed log while it is read: gzip and zstd, told by their first bytes."""

import gzip
import io
from typing import Any, BinaryIO, cast

from app.diagnosis.forms import GZIP
from app.exceptions import BadInputError, UnavailableError


def unpacked(stream: BinaryIO, head: bytes) -> BinaryIO:
    """A stream of what a compressed one holds; nothing is unpacked ahead of reading.

    Args:
        stream: the compressed one.
        head: what was read of it to see what it is.

    Raises:
        UnavailableError: zstd, and the package for it is not there.
    """
    whole = cast("BinaryIO", io.BufferedReader(Rest(head, stream)))
    if head.startswith(GZIP):
        return cast("BinaryIO", _Checked(gzip.GzipFile(fileobj=whole, mode="rb"), "gzip"))
    try:
        import zstandard  # noqa: PLC0415  # only a zstd log needs it
    except ImportError as e:
        raise UnavailableError("Reading zstd needs the package `zstandard`.") from e
    reader = zstandard.ZstdDecompressor().stream_reader(whole, read_across_frames=True)
    return cast("BinaryIO", _Checked(reader, "zstd"))


class Rest(io.RawIOBase):
    """The bytes already read, then the stream they came from."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        """It can."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        """Fill a buffer as far as the next piece goes."""
        part = self._head[: len(buffer)] if self._head else self._stream.read(len(buffer)) or b""
        if self._head:
            self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        return len(part)


class _Checked:
    """Reports damage as our own error."""

    def __init__(self, reader: Any, form: str) -> None:
        self._reader, self._form = reader, form

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._reader.read(size))
        except Exception as e:
            # gzip raises EOFError, OSError and zlib.error, zstandard its own
            raise BadInputError(f"The log is no whole {self._form} file ({e}).") from e
