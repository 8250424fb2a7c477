"""A large file in two halves, the later one searched by a forked process.

Counting lines and reading what was found hold the interpreter lock, so threads of one process gain
little; two processes share nothing but the mapped index. What the other process found comes back
over a pipe. A string that stands in both halves is read up to twice as often as in one.
"""

import marshal
import os
import signal
import threading
from contextlib import suppress
from dataclasses import fields
from operator import attrgetter
from typing import Final

from app.diagnosis.large import BLOCK, FileSource, Progress, Survey, Surveyor, processors
from app.diagnosis.lines import Line
from app.diagnosis.matcher import Matcher

_WORTH_IT: Final = 8 * BLOCK
"""Bytes below which a second process costs more than it saves."""
_VALUES: Final = attrgetter(*(f.name for f in fields(Line)))


def survey_file(
    matcher: Matcher, descriptor: int, size: int, progress: Progress | None = None
) -> Survey:
    """Search a regular file, with a second process if there is a second processor.

    Args:
        matcher: the index.
        descriptor: the file, open for reading.
        size: its bytes.
        progress: told how many bytes have been read.
    """
    alone = threading.active_count() == 1 and hasattr(os, "fork")
    if size < _WORTH_IT or not alone or processors() < 2:  # noqa: PLR2004  # one is this process's
        return Surveyor(matcher, progress).run(FileSource(descriptor, size))
    middle = -(-size // BLOCK) // 2
    ours = FileSource(descriptor, size, until=middle)
    theirs = FileSource(descriptor, size, first=middle)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _work(matcher, theirs, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        try:
            # the other half is read meanwhile
            both = (lambda done: progress(2 * done)) if progress else None
            survey = Surveyor(matcher, both).run(ours, 1)
            told = pipe.read()
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)  # it has told all, or nobody waits for it
            os.waitpid(child, 0)
    later = _survey(told) or Surveyor(matcher, progress).run(theirs, 1)
    return _joined(survey, later)


def _work(matcher: Matcher, source: FileSource, writing: int) -> None:
    """Search the later half and tell; never returns."""
    try:
        found = Surveyor(matcher).run(source, 1)
        told = (found.total, found.bytes, found.more, [_VALUES(line) for line in found.lines])
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(marshal.dumps(told))
    finally:
        os._exit(0)


def _survey(told: bytes) -> Survey | None:
    """What the other process told; None if it ended before it had told all."""
    try:
        total, size, more, lines = marshal.loads(told)  # noqa: S302  # our own child wrote it
    except (EOFError, ValueError, TypeError):
        return None
    return Survey([Line(*values) for values in lines], total, more, size)


def _joined(first: Survey, later: Survey) -> Survey:
    for line in later.lines:
        line.number += first.total
    for literal, (count, last) in later.more.items():
        more = first.more.setdefault(literal, [0, 0])
        more[0] += count
        more[1] = first.total + last
    return Survey(
        first.lines + later.lines, first.total + later.total, first.more, first.bytes + later.bytes
    )
