"""A large file searched by two processes, each taking the next blocks when it has done some.

The other process is forked before most of the program is loaded: while it searches, this one loads
what reads the places. A string that stands all over a log is read up to twice as often as by one.
"""

import os
from array import array
from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from app.diagnosis import partner
from app.diagnosis.blocks import BLOCK, FileSource, blocks_of
from app.diagnosis.large import Found, Progress, Searched, Survey, Surveyor, joined
from app.diagnosis.lines import Line
from app.diagnosis.windows import Window

_WORTH_IT: Final = 8 * BLOCK
"""Bytes below which a second process costs more than it saves."""
_MOST_TURNS: Final = 1_000
"""Turns that two processes take; as numbers they fit into the smallest pipe there is."""
_VALUES: Final = attrgetter(*(f.name for f in fields(Line)))


def survey_file(
    strings: Searched, descriptor: int, size: int, progress: Progress | None = None
) -> Survey:
    """Search a regular file, with a second process if there is a second processor.

    Args:
        strings: the index and its fixed strings.
        descriptor: the file, open for reading.
        size: its bytes.
        progress: told how many bytes have been read.
    """
    if size < _WORTH_IT or not partner.possible():
        return Surveyor(strings, progress).run(FileSource(descriptor, size))
    turns = _Turns(blocks_of(size))

    def search(progress: Progress | None = None) -> dict[int, Found]:
        source = FileSource(descriptor, size, numbers=iter(turns))
        return Surveyor(strings, progress).search(source, 1)

    try:
        both = partner.Partner(lambda: _told(search()))
    except OSError:  # no more processes or pipes: one does it too, the file is not at fault
        turns.close()
        return Surveyor(strings, progress).run(FileSource(descriptor, size))
    with both as other:
        import app.diagnosis.answer  # noqa: F401, PLC0415  # loaded while the other one searches

        # the other one is about as far
        found = search((lambda done: progress(min(2 * done, size))) if progress else None)
        found |= _found(other.told() or {})
    turns.close()
    missed = set(range(blocks_of(size))) - found.keys()
    if missed:  # by a process that ended too early
        source = FileSource(descriptor, size, numbers=iter(sorted(missed)))
        found |= Surveyor(strings, progress).search(source, 1)
    if progress:
        progress(size)
    return joined(found)


class _Turns:
    """Numbers of blocks, given to whichever process asks next.

    They wait in a pipe, of which one read takes one turn.
    """

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._step = -(-blocks // _MOST_TURNS)
        firsts = array("I", range(0, blocks, self._step))
        self._size = firsts.itemsize
        self._reading, writing = os.pipe()
        os.write(writing, firsts.tobytes())
        os.close(writing)

    def __iter__(self) -> Iterator[int]:
        while turn := os.read(self._reading, self._size):
            (first,) = array("I", turn)
            yield from range(first, min(first + self._step, self._blocks))

    def close(self) -> None:
        os.close(self._reading)


def _told(blocks: dict[int, Found]) -> dict[int, tuple[Any, ...]]:
    """What blocks hold, in plain values."""
    return {
        number: (
            [(w.line, w.end, [_VALUES(line) for line in w.lines]) for w in found.windows],
            found.lines,
            found.more,
            found.bytes,
        )
        for number, found in blocks.items()
    }


def _found(told: dict[int, tuple[Any, ...]]) -> dict[int, Found]:
    """What the other process told."""
    return {
        number: Found(
            [Window(at, [Line(*values) for values in lines], end) for at, end, lines in windows],
            *counted,
        )
        for number, (windows, *counted) in told.items()
    }
