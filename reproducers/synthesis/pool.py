"""Workers within the wall: a forked process a file, with limits of its own.

A site that hangs, dies or takes too much memory costs its worker; it is recorded, and a new worker
goes on with the next site. A worker begins with the release as it was loaded, so that what one file
leaves behind never reaches another.
"""

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

Site = dict[str, Any]
Solve = Callable[[Site], dict[str, Any]]
HARD_SECONDS: Final = 40.0
"""How long a worker may say nothing; loading a file's modules included."""
MEMORY: Final = 3 << 30
_exit = os._exit
_fork = os.fork
_kill = os.kill


def solved(
    sites: Sequence[Site], solve: Solve, seconds: float = HARD_SECONDS
) -> Iterator[tuple[Site, dict[str, Any]]]:
    """The result of each site, in order.

    Args:
        sites: of one file.
        solve: called in a forked process.
        seconds: after so long without a result a worker is ended.
    """
    left = list(sites)
    while left:
        done = 0
        worker = _Worker(left, solve)
        try:
            for answer in worker.answers(seconds):
                yield left[done], answer
                done += 1
        finally:
            reason = worker.end()
        left = left[done:]
        if left:
            code = "hang" if reason == "late" else "died"
            yield left[0], {
                "level": "none", "trigger": None, "fix": None, "reason": code, "detail": reason,
                "seconds": round(worker.silent, 3),
            }  # fmt: skip
            left = left[1:]


class _Worker:
    def __init__(self, sites: Sequence[Site], solve: Solve) -> None:
        self._late = False
        self.silent = 0.0
        self._read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = _fork()
        if self.pid == 0:
            os.close(self._read)
            _work(sites, solve, write)
        os.close(write)

    def answers(self, seconds: float) -> Iterator[dict[str, Any]]:
        pending = b""
        began = time.monotonic()
        while True:
            left = began + seconds - time.monotonic()
            ready = select.select([self._read], [], [], max(0.0, left))[0]
            self.silent = time.monotonic() - began
            if not ready:
                self._late = True
                return
            data = os.read(self._read, 1 << 16)
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                began = time.monotonic()
                yield json.loads(line)

    def end(self) -> str:
        """See it out of the world; how it ended."""
        os.close(self._read)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            if not self._late:
                time.sleep(0.02)
            _kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        if self._late:
            return "late"
        if os.WIFSIGNALED(status):
            return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"exit code {os.waitstatus_to_exitcode(status)}"


def _work(sites: Sequence[Site], solve: Solve, write: int) -> None:
    code = 1
    try:
        gc.freeze()
        resource.setrlimit(resource.RLIMIT_AS, (_space() + MEMORY,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for site in sites:
            try:
                answer = solve(site)
            except MemoryError:
                answer = {"level": "none", "trigger": None, "fix": None, "reason": "died",
                          "detail": "out of memory", "seconds": 0.0}  # fmt: skip
            line = json.dumps(answer, default=repr).encode("utf-8", "replace") + b"\n"
            while line:
                line = line[os.write(write, line) :]
        code = 0
    except BaseException:  # noqa: BLE001  # a fault of ours: said on standard error
        import traceback

        os.write(2, traceback.format_exc(limit=-4).encode()[-2000:])
    finally:
        _exit(code)


def _space() -> int:
    """The address space of this process in bytes."""
    with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123  # one line of the kernel
        return int(stream.read().split()[0]) * resource.getpagesize()
