"""The two processes behind the wall: the one that puts it up and reaps, and the one that works.

Neither function returns.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Final, NoReturn

from reproducers.protocol import Event, Request, Result, dump
from reproducers.wall import syscalls
from reproducers.wall.enter import enter

Emit = Callable[[Event], None]
Work = Callable[[Request, Emit], Result]
ALLOW_UNWALLED: Final = "REPROBASE_ALLOW_UNWALLED"
"""Set to 1 by a user who runs engine code though this machine cannot wall it in. The caller hands
it on from a command line, never from the web."""


def be_init(
    request: Request, work: Work, *, control: int, answers: int, kept: int | None, note: str | None
) -> NoReturn:
    """Put the wall up, start the worker, reap what ends, and take everything down with it.

    Args:
        request: what was asked.
        work: answers it.
        control: a pipe that the worker does not get: `{"isolation"}`, then `{"ended"}`; or
            `{"failed"}`; or `{"refused"}` where the wall has a gap and nobody asked to run all the
            same (see `ALLOW_UNWALLED`).
        answers: the worker's pipe for events and the result.
        kept: one more descriptor that the worker needs.
        note: why there is no process namespace; None if there is one.
    """
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the keeper's way to stop is not ours
        _close_all_but(control, answers, *(() if kept is None else (kept,)))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        allowed = os.environ.get(ALLOW_UNWALLED) == "1"  # the wall empties the environment
        wall = enter(request)
        if note:
            wall.missing.append(note)
        else:
            wall.enforced.append("processes: a namespace of their own, none outlives the run")
        _die_with_parent()
        write_line(control, json.dumps({"isolation": wall.words()}))
        if wall.open_to and not allowed:
            write_line(control, json.dumps({"refused": _gap(wall.open_to)}))
            os._exit(0)
        worker = os.fork()
        if worker == 0:
            os.close(control)
            _die_with_parent()
            be_worker(request, work, answers)
        os.close(answers)
        write_line(control, json.dumps({"ended": _wait_for(worker)}))
    except BaseException as e:  # noqa: BLE001  # what fails here is for the keeper to report
        with contextlib.suppress(OSError):
            write_line(control, json.dumps({"failed": f"{type(e).__name__}: {e}"}))
    finally:
        os._exit(0)


def _gap(open_to: list[str]) -> str:
    return (
        f"this machine cannot keep engine code from {', '.join(open_to)}, so none was run; "
        f"{ALLOW_UNWALLED}=1 before the command runs it all the same"
    )


def be_worker(request: Request, work: Work, answers: int) -> NoReturn:
    """Answer the request and end at once, whatever threads the engine left behind."""
    code = 1
    try:
        os.setsid()
        result = work(request, lambda event: write_line(answers, dump(event)))
        _flush()
        write_line(answers, dump(result))
        code = 0
    except BaseException:  # noqa: BLE001  # a fault of ours: seen in the output, reported as died
        sys.excepthook(*sys.exc_info())
        _flush()
    finally:
        os._exit(code)


def write_line(fd: int, line: str) -> None:
    """Write a whole line, however small the pipe."""
    data = line.encode("utf-8", "replace") + b"\n"
    while data:
        data = data[os.write(fd, data) :]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _wait_for(worker: int) -> int:
    """Reap whatever ends until the worker does; returns its exit code, or minus its signal."""
    while True:
        pid, status = os.wait()
        if pid == worker:
            return os.waitstatus_to_exitcode(status)


def _die_with_parent() -> None:
    if syscalls.AVAILABLE:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def _close_all_but(*kept: int) -> None:
    last = 2
    for fd in sorted(kept):
        os.closerange(last + 1, fd)
        last = max(last, fd)
    os.closerange(last + 1, 1 << 20)
