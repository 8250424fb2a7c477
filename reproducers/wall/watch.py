"""What the keeper learns of a run while it goes on, and the bounds it puts on it."""

import json
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from reproducers.protocol import Event, Outcome, Request, Result, dump, load_answer
from reproducers.wall import limits

MAX_LINE: Final = 8 << 20
MAX_EVENTS: Final = 10_000
MAX_EVENT_BYTES: Final = 4 << 20
"""Of all events of a run together; they are kept in a file and sent to whoever looks on."""
_TICK: Final = 0.1
_BLOCK: Final = 1 << 16
_GONE: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL


class CallerGoneError(Exception):
    """Whoever asked is gone: nobody wants the answer any more."""


class Watch:
    """Watches one run until it has a result, is over, or has passed a bound.

    Args:
        request: its limits are what is watched.
        send: takes each event's line as it comes.
        answers: the worker's pipe: foreign text, bounded line by line.
        control: init's pipe, to which no engine code can write.
        out_fd: if its reader goes away, the run is not wanted any more.
    """

    def __init__(
        self,
        request: Request,
        send: Callable[[str], None],
        *,
        answers: int,
        control: int,
        out_fd: int,
    ) -> None:
        self._limits = request.limits
        self._tells_wall = request.kind == "launch"
        self._send = send
        self._control = control
        self._out_fd = out_fd
        self._pending = {answers: b"", control: b""}
        self._started = time.monotonic()
        self._events = 0
        self._event_bytes = 0
        self._isolation: list[str] = []
        self._result: Result | None = None
        self._outcome: Outcome | None = None
        self._reason: str | None = None
        self._ended: int | None = None

    def until_over(self, init: int) -> None:
        """Read both pipes until there is a result, both are closed, or a bound is passed.

        Args:
            init: the process whose descendants are the run.

        Raises:
            CallerGoneError: the reader of `out_fd` went away.
        """
        poll = select.poll()
        open_fds = set(self._pending)
        for fd in open_fds:
            poll.register(fd, select.POLLIN)
        poll.register(self._out_fd, 0)
        next_look = self._started
        while open_fds and self._outcome is None and self._result is None:
            now = time.monotonic()
            left = self._started + self._limits.seconds - now
            if left <= 0:
                self._give_up("timeout", f"still running after {self._limits.seconds:g} s; ended")
                return
            for fd, event in poll.poll(min(_TICK, left) * 1000):
                if fd != self._out_fd:
                    if not self._read(fd):
                        poll.unregister(fd)
                        open_fds.discard(fd)
                elif event & _GONE:
                    raise CallerGoneError
            if now >= next_look:
                next_look = now + _TICK
                self._look_at(limits.descendants(init))

    def conclude(self) -> Result:
        """The one result: the worker's, or what became of it."""
        seconds = round(time.monotonic() - self._started, 3)
        if self._result is not None:
            return replace(self._result, isolation=self._isolation, seconds=seconds)
        return Result(
            outcome=self._outcome or "died",
            reason=self._reason or _why_ended(self._ended),
            isolation=self._isolation,
            seconds=seconds,
        )

    def _give_up(self, outcome: Outcome, reason: str) -> None:
        if self._outcome is None:
            self._outcome, self._reason = outcome, reason

    def _read(self, fd: int) -> bool:
        """Read what is there; False at the end."""
        data = os.read(fd, _BLOCK)
        *lines, rest = (self._pending[fd] + data).split(b"\n")
        self._pending[fd] = rest
        for line in lines:
            if fd == self._control:
                self._controlled(json.loads(line))
            else:
                self._answered(line)
        if len(rest) > MAX_LINE:
            self._give_up("died", f"its answer has a line over {MAX_LINE >> 20} MiB; ended")
        return bool(data)

    def _controlled(self, message: dict[str, Any]) -> None:
        self._isolation = message.get("isolation", self._isolation)
        if "isolation" in message and self._tells_wall:
            # A release kept loaded answers long before it has a result that could say so.
            data = {"isolation": self._isolation}
            self._send(dump(Event(event="value", text="isolation", data=data)))
        self._ended = message.get("ended", self._ended)
        if "refused" in message:
            self._give_up("skipped", message["refused"])
        if "failed" in message:
            self._give_up("died", f"the wall could not be put up: {message['failed']}")

    def _answered(self, line: bytes) -> None:
        try:
            message = load_answer(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return
        if isinstance(message, Result):
            self._result = self._result or message
            return
        text = dump(message)
        self._events += 1
        self._event_bytes += len(text.encode("utf-8", "replace"))
        if self._events <= MAX_EVENTS and self._event_bytes <= MAX_EVENT_BYTES:
            self._send(text)

    def _look_at(self, pids: list[int]) -> None:
        """Bounds over all processes of the run together."""
        allowed = self._limits.memory_bytes
        if allowed is not None and limits.memory_of(pids, allowed) > allowed:
            self._give_up("died", f"used more than {allowed >> 20} MiB of memory; ended")
        processes = self._limits.processes
        if processes is not None and len(pids) > processes:
            self._give_up("died", f"started more than {processes} processes; ended")


def _why_ended(code: int | None) -> str:
    if code is None:
        return "ended without an answer"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code} and without an answer"
