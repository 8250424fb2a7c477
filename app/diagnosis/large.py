"""Logs of any size: one pass for the places worth reading, and only these are read.

A file is cut into blocks that several threads scan at once; a pipe is read block by block. Each
block is searched for every fixed string of the index. Around a hit the lines that belong to it are
kept: one line for a message, all of it for a traceback. What is kept is bounded, so is memory: of
what repeats without end only the beginning is read, the rest is counted.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO, Final, Protocol

from app.diagnosis.lines import Line, clean
from app.diagnosis.literals import Hit, Scanner
from app.diagnosis.matcher import Matcher
from app.diagnosis.windows import LOOKAHEAD, Window, window

BLOCK: Final = 4 << 20
_MOST_HITS: Final = 400
"""Places read for one fixed string; the others are counted."""
_MOST_WARNINGS: Final = 4
"""The same for strings that lead to warnings only."""
_MOST_LINES: Final = 200_000
"""Lines kept of the whole log."""
_HEAD_LINES: Final = 120
_TAIL_BYTES: Final = 6_000
_WORKERS: Final = 4
Progress = Callable[[int], None]
"""Told how many bytes have been read."""


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
        first: int = 0,
        until: int | None = None,
    ) -> None:
        self._descriptor, self._size, self._block = descriptor, size, block
        self._next = first
        self._until = -(-size // block) if until is None else until
        self._lock = threading.Lock()

    def take(self, buffer: bytearray) -> Block | None:
        """Read the next block; it begins behind the first line break of its bytes."""
        with self._lock:
            number = self._next
            self._next += 1
        if number >= self._until:
            return None
        at = number * self._block
        last = at + self._block >= self._size
        # one byte more before, to see whether a line begins exactly here
        before = 1 if at else 0
        wanted = memoryview(buffer)[: self._block + LOOKAHEAD + before]
        size = os.preadv(self._descriptor, [wanted], at - before)
        start, end = 0, min(self._block + before, size)
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


@dataclass(slots=True)
class Found:
    """What a block holds."""

    windows: list[Window] = field(default_factory=list)
    lines: int = 0
    more: dict[int, list[int]] = field(default_factory=dict)
    """Literal → [hits not read, line of the last]."""


@dataclass(slots=True)
class Survey:
    """What was found in a log."""

    lines: list[Line] = field(default_factory=list)
    total: int = 0
    more: dict[int, list[int]] = field(default_factory=dict)
    bytes: int = 0


class Surveyor:
    """Searches a log."""

    def __init__(self, matcher: Matcher, progress: Progress | None = None) -> None:
        self._matcher = matcher
        self._progress = progress
        self._lock = threading.Lock()
        self._found: dict[int, Found] = {}
        self._taken: dict[int, int] = {}
        self._kept = 0
        self._bytes = 0
        self._reach = {int(n): kind for n, kind in matcher.index.meta["markers"].items()}
        self._extra: dict[int, tuple[int, int]] = {}
        self._failure: BaseException | None = None

    def run(self, source: Source, workers: int | None = None) -> Survey:
        """Search all blocks."""
        count = workers or min(_WORKERS, processors())
        threads = [threading.Thread(target=self._work, args=(source,)) for _ in range(count - 1)]
        for thread in threads:
            thread.start()
        self._work(source)
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return self._joined()

    def _work(self, source: Source) -> None:
        scanner = self._matcher.literals.scanner()
        buffer = bytearray(BLOCK + LOOKAHEAD + 1)
        try:
            while self._failure is None and (block := source.take(buffer)) is not None:
                found = self._block(block, scanner)
                with self._lock:
                    self._found[block.number] = found
                    self._bytes += block.end - block.start
                    if self._progress:
                        self._progress(self._bytes)
        except BaseException as e:  # noqa: BLE001  # carried to the thread that asked
            self._failure = self._failure or e

    def _block(self, block: Block, scanner: Scanner) -> Found:
        found = Found()
        data = block.data
        hits = scanner.scan(memoryview(data)[block.start : block.end])
        counted = done = block.start
        tail = self._tail_start(block) if block.last else block.size + 1
        if block.number == 0:
            done = self._edge(found, block)
            counted, found.lines = done, _newlines(data, block.start, done)
        for hit in hits:
            end = block.start + hit.end
            if end <= done:
                continue
            start = max(data.rfind(b"\n", block.start, end) + 1, block.start)
            if start >= tail:
                break  # the tail is read in any case
            found.lines += _newlines(data, counted, start)
            counted = start
            if self._full(hit, found):
                continue
            kind, extra = self._wants(hit)
            one = window(data, start, block.size, found.lines, kind=kind, extra=extra)
            found.windows.append(one)
            done = one.end
        found.lines += _newlines(data, counted, block.end)
        if block.last:
            self._tail(found, block, max(tail, done))
        return found

    @staticmethod
    def _edge(found: Found, block: Block) -> int:
        """The first lines of a log: what it was started with stands there."""
        at = block.start
        for _ in range(_HEAD_LINES):
            stop = block.data.find(b"\n", at, block.size)
            if stop < 0:
                at = block.size
                break
            at = stop + 1
        text = block.data[block.start : at].decode("utf-8", "replace").removesuffix("\n")
        found.windows.append(Window(0, clean(text), at))
        return at

    @staticmethod
    def _tail_start(block: Block) -> int:
        """Where the last lines begin."""
        earliest = max(block.end - _TAIL_BYTES, block.start)
        return max(block.data.rfind(b"\n", block.start, earliest) + 1, block.start)

    @staticmethod
    def _tail(found: Found, block: Block, start: int) -> None:
        """The last lines: how it ended."""
        data, end = block.data, block.end
        if start < end:
            last = found.lines - _newlines(data, start, end)
            text = data[start:end].decode("utf-8", "replace").removesuffix("\n")
            found.windows.append(Window(last, clean(text), end))
            if data[end - 1 : end] != b"\n":
                found.lines += 1

    def _full(self, hit: Hit, found: Found) -> bool:
        """Whether enough was read of a string; if so the hit is counted."""
        taken = self._taken.get(hit.literal, 0)
        self._taken[hit.literal] = taken + 1
        if taken < self._limit(hit.literal) and self._kept < _MOST_LINES:
            self._kept += 1
            return False
        more = found.more.setdefault(hit.literal, [0, 0])
        more[0] += 1
        more[1] = found.lines + 1
        return True

    def _limit(self, literal: int) -> int:
        return self._facts(literal)[1]

    def _wants(self, hit: Hit) -> tuple[str, int]:
        return self._reach.get(hit.literal, "message"), self._facts(hit.literal)[0]

    def _facts(self, literal: int) -> tuple[int, int]:
        """(lines that a message may go on for, places to read) of a string."""
        known = self._extra.get(literal)
        if known is None:
            records = [self._matcher.index.record(n) for n in self._matcher.index.posting(literal)]
            extra = max((sum(p.count("\n") for p in r.parts) for r in records), default=0)
            quiet = bool(records) and all(r.level.upper().endswith("WARNING") for r in records)
            known = self._extra[literal] = (extra, _MOST_WARNINGS if quiet else _MOST_HITS)
        return known

    def _joined(self) -> Survey:
        survey = Survey(bytes=self._bytes)
        for number in sorted(self._found):
            found = self._found[number]
            for one in found.windows:
                for line in one.lines:
                    line.number += survey.total + one.line
                if one.lines:
                    one.lines[0].gap = True
                    survey.lines.extend(one.lines)
            for literal, (count, last) in found.more.items():
                more = survey.more.setdefault(literal, [0, 0])
                more[0] += count
                more[1] = survey.total + last
            survey.total += found.lines
        return survey


def _newlines(data: bytearray, start: int, end: int) -> int:
    """Line breaks in a slice; taking them out is twice as fast as counting them."""
    if end <= start:
        return 0
    part = data[start:end]
    return len(part) - len(part.replace(b"\n", b""))


def processors() -> int:
    """How many processors this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on this system
        return max(1, os.cpu_count() or 1)
