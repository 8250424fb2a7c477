"""Bounds on what one run may use: by the kernel for each process, and over all of them together."""

import os
import resource
from pathlib import Path
from typing import Final

from reproducers.protocol import Limits

_PAGE: Final = resource.getpagesize()
_OPEN_FILES: Final = 1024


def apply(limits: Limits, *, own_user: bool, device: str) -> list[str]:
    """Set the limits of this process and of all that it starts.

    Args:
        limits: what is allowed.
        own_user: whether nobody else runs as this user, so that its processes can be counted.
        device: with `cuda` address space is not limited, since drivers reserve terabytes.

    Returns:
        What is enforced, in words.
    """
    words = []
    cpu_seconds = int(limits.seconds * (os.cpu_count() or 1)) + 1
    _set(resource.RLIMIT_CPU, cpu_seconds)
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _set(resource.RLIMIT_FSIZE, limits.file_bytes)
    words.append(f"time: {limits.seconds:g} s, {cpu_seconds} s of processor time")
    words.append(f"files: {limits.file_bytes >> 20} MiB each, {_OPEN_FILES} open")
    if limits.memory_bytes is not None:
        if device != "cuda":
            _set(resource.RLIMIT_DATA, limits.memory_bytes)
        words.append(f"memory: {limits.memory_bytes >> 20} MiB, all processes together")
    if limits.processes is not None and hasattr(resource, "RLIMIT_NPROC"):
        # Where the user has other processes, those are counted too: leave them their number.
        others = 0 if own_user else _threads_of_user(os.geteuid())
        _set(resource.RLIMIT_NPROC, limits.processes + others)
        # The kernel does not count the processes of root; the keeper does, of everybody.
        how = ", threads included" if os.geteuid() != 0 else ", counted from outside"
        words.append(f"processes: {limits.processes}{how}")
    return words


def _set(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def _threads_of_user(uid: int) -> int:
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid == uid:
                count += len(list((entry / "task").iterdir()))
        except OSError:
            continue
    return count


def descendants(pid: int) -> list[int]:
    """All processes that descend from one, as this process sees them; empty where unknown."""
    found: list[int] = []
    todo = [pid]
    while todo:
        for task in _tasks(todo.pop()):
            try:
                children = [int(c) for c in (task / "children").read_text().split()]
            except (OSError, ValueError):
                continue
            found += children
            todo += children
    return found


def _tasks(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def memory_of(pids: list[int], enough: int) -> int:
    """Memory in bytes that these processes use together.

    Pages that forked processes share are counted once, but only looked at closely if the quick sum
    is over `enough`.
    """
    quick = sum(_resident(p) for p in pids)
    if quick <= enough:
        return quick
    return sum(_proportional(p) for p in pids)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return _resident(pid)
