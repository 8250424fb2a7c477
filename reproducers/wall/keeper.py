"""The process that starts a run behind the wall, watches over it and says what became of it.

    keeper (the caller's user, runs no engine code)
    ├── init          process 1 of a process namespace: puts the wall up, reaps
    │   └── worker    executes the request; whatever it starts lies below and dies with init
    └── compiler      behind a wall too: compiles modules, executes nothing

The worker's lines are read with a bound on each; events are passed on as they come. There is
exactly one result: the worker's, or the keeper's own if the worker died, hung or used too much.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reproducers.protocol import Event, Outcome, Request, Result, dump, load_answer
from reproducers.upstream import bytecode
from reproducers.wall import limits, privileges, syscalls
from reproducers.wall.compiler import Compiler
from reproducers.wall.inside import Work, be_init

MAX_LINE: Final = 8 << 20
MAX_EVENTS: Final = 10_000
_TICK: Final = 0.1
_GRACE: Final = 5.0
_GONE: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL


class CallerGoneError(Exception):
    """Whoever asked is gone: nobody wants the answer any more."""


@dataclass(slots=True)
class _Watch:
    """What the keeper has learnt of a run so far."""

    send: Callable[[str], None]
    isolation: list[str] = field(default_factory=list)
    result: Result | None = None
    outcome: Outcome | None = None
    reason: str | None = None
    ended: int | None = None
    events: int = 0


def keep(request: Request, work: Work, send: Callable[[str], None], out_fd: int) -> None:
    """Run `work(request)` behind the wall and send its events and the one result.

    Nothing that the run started is alive when this returns.

    Args:
        request: what was asked.
        work: answers it; called in the worker, once the wall is up.
        send: takes each line as it comes.
        out_fd: where the lines go; when its reader goes away the run is ended.

    Raises:
        CallerGoneError: the reader of `out_fd` went away.
    """
    started = time.monotonic()
    if syscalls.AVAILABLE:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    compiler = Compiler(request) if request.bytecode and request.subject.root else None
    watch = _Watch(send)
    try:
        _run(request, work, watch, compiler, out_fd, started)
        send(dump(_conclude(watch, time.monotonic() - started)))
        if compiler is not None:
            compiler.finish(_GRACE)
    finally:
        if compiler is not None:
            compiler.stop()


def _run(
    request: Request,
    work: Work,
    watch: _Watch,
    compiler: Compiler | None,
    out_fd: int,
    started: float,
) -> None:
    note = _own_processes()
    answers, answers_in = os.pipe()
    control, control_in = os.pipe()
    names = compiler.names if compiler else None
    if names is not None:
        work = _naming_misses(work, names, str(request.subject.root))
    init = os.fork()
    if init == 0:
        be_init(request, work, control=control_in, answers=answers_in, kept=names, note=note)
    os.close(answers_in)
    os.close(control_in)
    try:
        _watch(request, init, {answers: b"", control: b""}, control, out_fd, watch, started)
    finally:
        _end(init, spared=compiler.pid if compiler else None)
        os.close(answers)
        os.close(control)


def _own_processes() -> str | None:
    """A process namespace for what is forked next; returns why there is none."""
    if not syscalls.AVAILABLE:
        return f"not enforced: process namespace (not on {sys.platform})"
    try:
        if os.geteuid() != 0:
            privileges.own_user_namespace()
        syscalls.unshare(syscalls.CLONE_NEWPID)
    except OSError as e:
        return f"not enforced: process namespace ({e})"
    return None


def _naming_misses(work: Work, fd: int, root: str) -> Work:
    """The same work, naming the modules that were not compiled to the compiler."""

    def name(path: str) -> None:
        # A full pipe or a dead compiler only means that somebody compiles again the next time.
        with contextlib.suppress(OSError):
            os.write(fd, os.fsencode(os.path.relpath(path, root)) + b"\n")

    def naming(request: Request, emit: Callable[[Event], None]) -> Result:
        bytecode.StoredLoader.on_miss = staticmethod(name)
        return work(request, emit)

    return naming


def _watch(
    request: Request,
    init: int,
    pending: dict[int, bytes],
    control: int,
    out_fd: int,
    watch: _Watch,
    started: float,
) -> None:
    """Read both pipes until init ends, the result is there, or a bound is passed."""
    poll = select.poll()
    for fd in pending:
        poll.register(fd, select.POLLIN)
    poll.register(out_fd, 0)
    open_fds = set(pending)
    next_look = started
    while open_fds and watch.outcome is None and watch.result is None:
        now = time.monotonic()
        left = started + request.limits.seconds - now
        if left <= 0:
            watch.outcome = "timeout"
            watch.reason = f"still running after {request.limits.seconds:g} s; it was ended"
            return
        for fd, event in poll.poll(min(_TICK, left) * 1000):
            if fd == out_fd:
                if event & _GONE:
                    raise CallerGoneError
                continue
            data = os.read(fd, 1 << 16)
            if not data:
                poll.unregister(fd)
                open_fds.discard(fd)
            *lines, pending[fd] = (pending[fd] + data).split(b"\n")
            for line in lines:
                (_controlled if fd == control else _answered)(watch, line)
            if len(pending[fd]) > MAX_LINE:
                watch.outcome = "died"
                watch.reason = f"its answer has a line over {MAX_LINE >> 20} MiB"
        if now >= next_look:
            next_look = now + _TICK
            _look_at_memory(request, init, watch)


def _look_at_memory(request: Request, init: int, watch: _Watch) -> None:
    allowed = request.limits.memory_bytes
    if allowed is None or watch.outcome is not None:
        return
    if limits.memory_of([init, *limits.descendants(init)], allowed) > allowed:
        watch.outcome = "died"
        watch.reason = f"used more than {allowed >> 20} MiB of memory; it was ended"


def _controlled(watch: _Watch, line: bytes) -> None:
    """A line of init, which runs no engine code."""
    message: dict[str, Any] = json.loads(line)
    watch.isolation = message.get("isolation", watch.isolation)
    watch.ended = message.get("ended", watch.ended)
    if "failed" in message:
        watch.outcome = "died"
        watch.reason = f"the wall could not be put up: {message['failed']}"


def _answered(watch: _Watch, line: bytes) -> None:
    """A line of the worker: foreign text."""
    try:
        message = load_answer(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return
    if isinstance(message, Result):
        watch.result = message
    elif watch.events < MAX_EVENTS:
        watch.events += 1
        watch.send(dump(message))


def _end(init: int, spared: int | None) -> None:
    """End init and everything below it, and reap it all.

    With a process namespace the kernel does so when init dies. Without one, orphans come back to
    this process (it is their reaper) and are hunted down.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(init, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(init, 0)
    deadline = time.monotonic() + _GRACE
    while time.monotonic() < deadline:
        below = set(limits.descendants(os.getpid())) - {spared}
        if spared is not None:
            below -= set(limits.descendants(spared))
        if not below:
            return
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


def _conclude(watch: _Watch, seconds: float) -> Result:
    isolation = watch.isolation
    if watch.result is not None:
        return replace(watch.result, isolation=isolation, seconds=round(seconds, 3))
    reason = watch.reason
    if watch.outcome is None:
        reason = _why_ended(watch.ended)
    return Result(
        outcome=watch.outcome or "died",
        reason=reason,
        isolation=isolation,
        seconds=round(seconds, 3),
    )


def _why_ended(code: int | None) -> str:
    if code is None:
        return "ended without an answer"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code} and without an answer"
