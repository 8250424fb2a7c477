"""Functions in processes of their own, forked from this one; their answers come back as JSON."""

import gc
import json
import math
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

Answer = dict[str, Any]
Job = Callable[[], Answer]


class Fork:
    """One function on its way.

    Args:
        function: called in the forked process; must give plain data.
        seconds: how long it may take before it is ended.
    """

    def __init__(self, function: Job, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self._parts: list[bytes] = []
        self.fd, write = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self.fd)
            _be_child(function, write)
        os.close(write)

    def read(self) -> bool:
        """Take in what is there; False once all is there."""
        part = os.read(self.fd, 1 << 16)
        self._parts.append(part)
        return bool(part)

    def end(self, *, in_time: bool) -> Answer:
        """End the process and give its answer, or `{"died": why}`."""
        os.close(self.fd)
        if not _ended(self._pid):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        if not in_time:
            return {"died": f"it took more than {self.seconds:g} s"}
        try:
            answer: Answer = json.loads(b"".join(self._parts))
        except ValueError:
            return {"died": "its process ended without an answer"}
        return answer


def settle() -> None:
    """Call once what is loaded will stay: forked processes then share it and copy less."""
    gc.collect()
    gc.freeze()


def fresh(function: Job, seconds: float) -> Answer:
    """What the function gives, or `{"died": why}`."""
    return next(answer for _, answer in side_by_side([("", function)], seconds, 1))


def side_by_side(
    jobs: Iterable[tuple[str, Job]], seconds: float, at_once: int, until: float = math.inf
) -> Iterator[tuple[str, Answer]]:
    """The answers of several functions as they come, each with its job's name.

    Args:
        jobs: names and functions; they are started in this order.
        seconds: how long each may take.
        at_once: how many run at the same time.
        until: when (`time.monotonic`) all that still runs is ended, without an answer.
    """
    waiting = iter(jobs)
    running: dict[int, tuple[str, Fork]] = {}
    more = True
    while more or running:
        while more and len(running) < at_once:
            job = next(waiting, None)
            if job is None:
                more = False
                break
            fork = Fork(job[1], seconds)
            running[fork.fd] = job[0], fork
        now = time.monotonic()
        if now >= until:
            for _, fork in running.values():
                fork.end(in_time=False)
            return
        late = [fd for fd, (_, fork) in running.items() if fork.deadline <= now]
        for fd in late:
            name, fork = running.pop(fd)
            yield name, fork.end(in_time=False)
        if not running:
            continue
        left = min([until, *(fork.deadline for _, fork in running.values())]) - now
        for fd in select.select(list(running), [], [], max(left, 0.0))[0]:
            if not running[fd][1].read():
                name, fork = running.pop(fd)
                yield name, fork.end(in_time=True)


def _be_child(function: Job, write: int) -> NoReturn:
    code = 1
    gc.disable()  # it would touch, and so copy, what is shared with the parent
    try:
        try:
            answer = function()
        except BaseException:  # noqa: BLE001  # a fault of ours: said, not hidden
            answer = {"died": traceback.format_exc(limit=-3)[-1500:]}
        data = json.dumps(answer, default=repr).encode("utf-8", "replace")
        while data:
            data = data[os.write(write, data) :]
        code = 0
    finally:
        os._exit(code)


def _ended(pid: int) -> bool:
    """Whether it has ended; one that has answered is given a moment."""
    for _ in range(50):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return True
        time.sleep(0.001)
    return False
