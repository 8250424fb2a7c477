"""Logs of any size: one pass for the places worth reading, and only these are read.

A file is cut into blocks that several threads scan at once; a pipe is read block by block. Each
block is searched for every fixed string of the index. Around a hit the lines that belong to it are
kept: one line for a message, all of it for a traceback. What is kept is bounded, so is memory: of
what repeats without end only the beginning is read, the rest is counted.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from app.diagnosis.blocks import BLOCK, Block, Source
from app.diagnosis.lines import Line, clean
from app.diagnosis.literals import Hit, Literals, Scanner
from app.diagnosis.processors import processors
from app.diagnosis.windows import LOOKAHEAD, Window, window

if TYPE_CHECKING:
    from app.diagnosis.index import Index

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


class Searched(Protocol):
    """What a search needs; `Strings` and `Matcher` both have it."""

    index: "Index"
    literals: Literals


@dataclass(slots=True)
class Found:
    """What a block holds."""

    windows: list[Window] = field(default_factory=list)
    lines: int = 0
    more: dict[int, list[int]] = field(default_factory=dict)
    """Literal → [hits not read, line of the last]."""
    bytes: int = 0


@dataclass(slots=True)
class Survey:
    """What was found in a log."""

    lines: list[Line] = field(default_factory=list)
    total: int = 0
    more: dict[int, list[int]] = field(default_factory=dict)
    bytes: int = 0


class Surveyor:
    """Searches a log."""

    def __init__(self, strings: Searched, progress: Progress | None = None) -> None:
        self._strings = strings
        self._progress = progress
        self._lock = threading.Lock()
        self._found: dict[int, Found] = {}
        self._taken: dict[int, int] = {}
        self._kept = 0
        self._bytes = 0
        self._reach = {int(n): kind for n, kind in strings.index.meta["markers"].items()}
        self._failure: BaseException | None = None

    def run(self, source: Source, workers: int | None = None) -> Survey:
        """Search all blocks."""
        return joined(self.search(source, workers))

    def search(self, source: Source, workers: int | None = None) -> dict[int, Found]:
        """Search all blocks; what each holds, by its number."""
        count = workers or min(_WORKERS, processors())
        threads = [threading.Thread(target=self._work, args=(source,)) for _ in range(count - 1)]
        for thread in threads:
            thread.start()
        self._work(source)
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return self._found

    def _work(self, source: Source) -> None:
        scanner = self._strings.literals.scanner()
        buffer = bytearray(BLOCK + LOOKAHEAD + 1)
        mine = []
        try:
            while self._failure is None and (block := source.take(buffer)) is not None:
                found = self._block(block, scanner)
                mine.append(found)
                with self._lock:
                    self._found[block.number] = found
                    found.bytes = block.end - block.start
                    self._bytes += found.bytes
                    if self._progress:
                        self._progress(self._bytes)
            for found in mine:
                for one in found.windows:
                    one.clean()
        except BaseException as e:  # noqa: BLE001  # carried to the thread that asked
            self._failure = self._failure or e

    def _block(self, block: Block, scanner: Scanner) -> Found:
        found = Found()
        data = block.data
        hits = scanner.sift(memoryview(data)[block.start : block.end])
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
            kind = self._reach.get(hit.literal, "message")
            extra, _ = self._strings.index.reach(hit.literal)
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
        _, quiet = self._strings.index.reach(hit.literal)
        most = _MOST_WARNINGS if quiet else _MOST_HITS
        if taken < most and self._kept < _MOST_LINES:
            self._kept += 1
            return False
        more = found.more.setdefault(hit.literal, [0, 0])
        more[0] += 1
        more[1] = found.lines + 1
        return True


def joined(blocks: Mapping[int, Found]) -> Survey:
    """What all blocks together hold; lines are numbered through.

    Args:
        blocks: what each holds, by its number.
    """
    survey = Survey()
    for number in sorted(blocks):
        found = blocks[number]
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
        survey.bytes += found.bytes
    return survey


def _newlines(data: bytearray, start: int, end: int) -> int:
    """Line breaks in a slice; taking them out is twice as fast as counting them."""
    if end <= start:
        return 0
    part = data[start:end]
    return len(part) - len(part.replace(b"\n", b""))
