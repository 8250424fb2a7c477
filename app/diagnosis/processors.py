"""Which processors a process may use, and on which it runs."""

import os
from contextlib import suppress


def processors() -> int:
    """How many processors this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on this system
        return max(1, os.cpu_count() or 1)


def running_on() -> int | None:
    """The processor that this process runs on; None if this system does not say."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123  # a path costs more than the question
            return int(file.read().rpartition(b")")[2].split()[36])
    except (OSError, ValueError, IndexError):
        return None


def leave(processor: int | None) -> None:
    """Run on any of the others: a busy system may long let two processes share one."""
    with suppress(AttributeError, OSError):
        others = os.sched_getaffinity(0) - {processor}
        if others:
            os.sched_setaffinity(0, others)
