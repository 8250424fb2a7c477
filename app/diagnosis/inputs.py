"""Where a log comes from: a text, a file, a pipe, plain or compressed; small ones whole, large ones
by their telling places.
"""

import gzip
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final, cast

from app.diagnosis.diagnose import diagnose, of_lines
from app.diagnosis.large import SMALL, FileSource, Progress, StreamSource, Surveyor
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Diagnosis
from app.exceptions import BadInputError, UnavailableError

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


def diagnose_path(
    path: Path,
    *,
    matcher: Matcher,
    command: str | None = None,
    release: str | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Diagnose a file, plain, gzip or zstd.

    Raises:
        BadInputError: there is no such file, or it cannot be read.
    """
    try:
        with path.open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            head = file.read(SMALL + 1) or b""
            plain = not head.startswith((_GZIP, _ZSTD))
            if plain and stat.S_ISREG(status.st_mode) and len(head) > SMALL:
                source = FileSource(file.fileno(), status.st_size)
                return _survey(source, matcher, command, release, progress)
            return _stream(cast("BinaryIO", file), head, matcher, command, release, progress)
    except OSError as e:
        raise BadInputError(f"{path} cannot be read: {e.strerror or e}.") from e


def diagnose_stream(
    stream: BinaryIO,
    *,
    matcher: Matcher,
    command: str | None = None,
    release: str | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Diagnose a pipe, plain, gzip or zstd.

    Raises:
        BadInputError: it cannot be read or unpacked.
    """
    head = _some(stream, SMALL + 1)
    return _stream(stream, head, matcher, command, release, progress)


def _stream(
    stream: BinaryIO,
    head: bytes,
    matcher: Matcher,
    command: str | None,
    release: str | None,
    progress: Progress | None,
) -> Diagnosis:
    try:
        if head.startswith((_GZIP, _ZSTD)):
            stream = _unpacked(stream, head)
            head = _some(stream, SMALL + 1)
        if len(head) <= SMALL:
            return diagnose(head, matcher=matcher, command=command, release=release)
        return _survey(StreamSource(stream, head), matcher, command, release, progress)
    except (EOFError, gzip.BadGzipFile) as e:
        raise BadInputError(f"The log is no whole gzip file ({e}).") from e


def _survey(
    source: FileSource | StreamSource,
    matcher: Matcher,
    command: str | None,
    release: str | None,
    progress: Progress | None,
) -> Diagnosis:
    found = Surveyor(matcher, progress).run(source)
    return of_lines(
        found.lines,
        matcher=matcher,
        command=command,
        release=release,
        total=found.total,
        more=found.more,
    )


def _some(stream: BinaryIO, size: int) -> bytes:
    parts = []
    while size > 0:
        part = stream.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _unpacked(stream: BinaryIO, head: bytes) -> BinaryIO:
    """A stream of what a compressed one holds; nothing is unpacked ahead of reading."""
    whole = cast("BinaryIO", io.BufferedReader(_Rest(head, stream)))
    if head.startswith(_GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=whole, mode="rb"))
    try:
        import zstandard  # noqa: PLC0415 - only a zstd log needs it
    except ImportError as e:
        raise UnavailableError("Reading zstd needs the package `zstandard`.") from e
    reader = zstandard.ZstdDecompressor().stream_reader(whole, read_across_frames=True)
    return cast("BinaryIO", _Zstd(reader, zstandard.ZstdError))


class _Rest(io.RawIOBase):
    """The bytes already read, then the stream they came from."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        part = self._head[: len(buffer)] if self._head else self._stream.read(len(buffer)) or b""
        if self._head:
            self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        return len(part)


class _Zstd:
    """Reports damage as our own error."""

    def __init__(self, reader: BinaryIO, error: type[Exception]) -> None:
        self._reader, self._error = reader, error

    def read(self, size: int) -> bytes:
        try:
            return self._reader.read(size)
        except self._error as e:
            raise BadInputError(f"The log is no whole zstd file ({e}).") from e
