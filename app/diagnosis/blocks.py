"""A log cut into blocks of whole lines: of a file, of a pipe, of bytes in memory."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, Final, Protocol

from app.diagnosis.windows import LOOKAHEAD

BLOCK: Final = 2 << 20
"""Bytes; what is read is looked at three times, and so much stays in a processor's own cache."""


def blocks_of(size: int, block: int = BLOCK) -> int:
    """Blocks of a file. A short rest belongs to the block before: how a log ended is read there."""
    short = min(LOOKAHEAD // 2, block // 4)
    return max(1, -(-(size - short) // block)) if size else 0


@dataclass(slots=True)
class Block:
    """Some lines of a log; what is taken of it must be copied before the next one is read."""

    number: int
    data: bytearray
    start: int
    end: int
    """Lines that begin behind this belong to the next block; they are here to look ahead."""
    size: int
    """Bytes of `data` that count."""
    last: bool


class Source(Protocol):
    """Gives blocks; `take` is called by several threads."""

    def take(self, buffer: bytearray) -> Block | None:
        """Read the next block into a buffer of one's own; None at the end."""
        ...


class FileSource:
    """Blocks of a regular file, read by whichever thread asks."""

    def __init__(
        self,
        descriptor: int,
        size: int,
        *,
        block: int = BLOCK,
        numbers: Iterator[int] | None = None,
    ) -> None:
        self._descriptor, self._size, self._block = descriptor, size, block
        self._numbers = iter(range(blocks_of(size, block))) if numbers is None else numbers
        self._lock = threading.Lock()

    def take(self, buffer: bytearray) -> Block | None:
        """Read the next block; it begins behind the first line break of its bytes."""
        with self._lock:
            number = next(self._numbers, None)
        if number is None:
            return None
        at = number * self._block
        last = number == blocks_of(self._size, self._block) - 1
        # one byte more before, to see whether a line begins exactly here
        before = 1 if at else 0
        wanted = memoryview(buffer)[: self._block + LOOKAHEAD + before]
        size = os.preadv(self._descriptor, [wanted], at - before)
        start, end = 0, size if last else min(self._block + before, size)
        if before:
            start = buffer.find(b"\n", 0, size) + 1
            if start == 0 or start >= end:
                return Block(number, buffer, 0, 0, 0, last)
        line_end = buffer.find(b"\n", max(end - 1, start), size)
        return Block(number, buffer, start, size if line_end < 0 else line_end + 1, size, last)


class StreamSource:
    """Blocks of a pipe or of a compressed file, read one after the other."""

    def __init__(self, stream: BinaryIO, first: bytes = b"", *, block: int = BLOCK) -> None:
        self._stream, self._pending, self._block = stream, first, block
        self._number = 0
        self._done = False
        self._lock = threading.Lock()

    def take(self, buffer: bytearray) -> Block | None:
        """Read the next block; what was read too far is kept for the one after."""
        with self._lock:
            if self._done:
                return None
            whole = self._block + LOOKAHEAD
            size = len(self._pending)
            buffer[:size] = self._pending
            size += _read_into(self._stream, memoryview(buffer)[size:whole])
            self._number += 1
            if size < whole:
                self._done = True
                self._pending = b""
                return Block(self._number - 1, buffer, 0, size, size, last=True) if size else None
            end = buffer.rfind(b"\n", 0, self._block) + 1 or self._block
            self._pending = bytes(memoryview(buffer)[end:size])
            return Block(self._number - 1, buffer, 0, end, size, last=False)


class BytesSource(StreamSource):
    """Blocks of a log in memory."""

    def __init__(self, data: bytes) -> None:
        super().__init__(BytesIO(data))


def _read_into(stream: BinaryIO, place: memoryview) -> int:
    """Fill a buffer as far as the stream goes."""
    done = 0
    while done < len(place):
        part = stream.read(min(len(place) - done, 1 << 20))
        if not part:
            break
        place[done : done + len(part)] = part
        done += len(part)
    return done
