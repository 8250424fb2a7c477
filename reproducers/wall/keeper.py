"""The process that starts a run behind the wall, watches over it and says what became of it.

keeper (the caller's user, runs no engine code)
├── init          process 1 of a process namespace: puts the wall up, reaps
│   └── worker    executes the request; whatever it starts lies below and dies with init
└── compiler      behind a wall too: compiles modules, executes nothing
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final

from reproducers.protocol import Event, Request, Result, dump
from reproducers.upstream import bytecode
from reproducers.wall import limits, privileges, syscalls
from reproducers.wall.compiler import Compiler
from reproducers.wall.inside import Work, be_init
from reproducers.wall.watch import Watch

_GRACE: Final = 5.0


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
    if syscalls.AVAILABLE:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    compiler = Compiler(request) if request.bytecode and request.subject.root else None
    try:
        send(dump(_run(request, work, send, out_fd, compiler)))
        if compiler is not None:
            compiler.finish(_GRACE)
    finally:
        if compiler is not None:
            compiler.stop()


def _run(
    request: Request,
    work: Work,
    send: Callable[[str], None],
    out_fd: int,
    compiler: Compiler | None,
) -> Result:
    note = _own_processes()
    answers, answers_in = os.pipe()
    control, control_in = os.pipe()
    watch = Watch(request, send, answers=answers, control=control, out_fd=out_fd)
    names = compiler.names if compiler else None
    if names is not None:
        work = _naming_misses(work, names, str(request.subject.root))
    init = os.fork()
    if init == 0:
        be_init(request, work, control=control_in, answers=answers_in, kept=names, note=note)
    os.close(answers_in)
    os.close(control_in)
    try:
        watch.until_over(init)
    finally:
        _end(init, spared=compiler.pid if compiler else None)
        os.close(answers)
        os.close(control)
    return watch.conclude()


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
        below = set(limits.descendants(os.getpid()))
        if spared is not None:
            below -= {spared, *limits.descendants(spared)}
        if not below:
            return
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
