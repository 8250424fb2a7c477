"""A second process that does a part of the work and tells what it found.

Reading what was found holds the interpreter lock, so threads of one process gain little; a forked
process shares nothing but what was there before, and tells its part over a pipe.
"""

import marshal
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from app.diagnosis.processors import leave, processors, running_on


def possible() -> bool:
    """Whether a second process can be forked safely and has a processor of its own."""
    alone = threading.active_count() == 1 and hasattr(os, "fork")
    return alone and processors() > 1


class Partner:
    """A forked process that computes one thing; a context, at whose end it is gone.

    Args:
        work: computes it; whatever `marshal` can write.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self._reading, writing = os.pipe()
        here = running_on()
        try:
            self._child = os.fork()
        except OSError:
            os.close(self._reading)
            os.close(writing)
            raise
        if self._child == 0:
            os.close(self._reading)  # or it would wait for ever for a parent that was killed
            leave(here)
            _tell(work, writing)
        os.close(writing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reading)
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)  # it has told all, or nobody waits for it
        os.waitpid(self._child, 0)

    def told(self) -> Any:
        """What it computed, waited for; None if it ended before it had told all."""
        with os.fdopen(os.dup(self._reading), "rb") as pipe:
            told = pipe.read()
        try:
            return marshal.loads(told)  # noqa: S302  # our own child wrote it
        except (EOFError, ValueError, TypeError):
            return None


def _tell(work: Callable[[], Any], writing: int) -> None:
    """Compute and tell; never returns."""
    try:
        told = marshal.dumps(work())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(told)
    finally:
        os._exit(0)
