"""What bounds one run: silence, time, and no process, thread or end of its own."""

import contextlib
import inspect
import io
import os
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any, Final

_MOST_STEPS: Final = 64
"""How many values of a generator are asked for."""


class StoppedError(BaseException):
    """The run took too long, or did what no run may do."""


class _Quiet(io.TextIOBase):
    def write(self, text: str, /) -> int:
        return len(text)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Nothing that is printed in the block is shown."""
    kept = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = _Quiet()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept


def _importing(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name in ("<module>", "_find_and_load"):
            return frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False


@contextlib.contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """End the block after some seconds of processor time; a module is loaded to its end."""

    def late(_signal: int, frame: types.FrameType | None) -> None:
        # A module that is being imported is left whole; the process's own limit is behind this.
        if not _importing(frame):
            raise StoppedError("too slow")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def finish(result: Any) -> None:
    """See a coroutine or generator to its end."""
    if inspect.iscoroutine(result) or (inspect.isgenerator(result)):  # fmt: skip
        with contextlib.suppress(StopIteration):
            for _ in range(_MOST_STEPS):
                next(result) if inspect.isgenerator(result) else result.send(None)
        result.close()
    elif inspect.isasyncgen(result):
        with contextlib.suppress(StopAsyncIteration, StopIteration):
            for _ in range(_MOST_STEPS):
                with contextlib.suppress(StopIteration):
                    result.__anext__().send(None)


def forbid() -> None:
    """What no run needs and what would cost more than itself: ended at once, as a stopped run."""
    import subprocess
    import threading
    import time

    def refused(*_args: Any, **_kwargs: Any) -> Any:
        if _importing(sys._getframe(1)):  # noqa: SLF001  # the only way to see callers
            raise FileNotFoundError("no process is started while a module is loaded")
        raise StoppedError("starts a process, ends this one or waits")

    def not_started(*_args: Any, **_kwargs: Any) -> None:
        if not _importing(sys._getframe(1)):  # noqa: SLF001  # the same
            raise StoppedError("starts a thread")

    threading.Thread.start = not_started  # type: ignore[method-assign]  # that is its purpose
    for module, names in (
        (os, ("fork", "forkpty", "_exit", "abort", "kill", "killpg", "system", "popen", "execv",
              "execve", "posix_spawn", "execvp")),
        (subprocess, ("Popen", "run", "call", "check_call", "check_output")),
    ):  # fmt: skip
        for name in names:
            if hasattr(module, name):
                setattr(module, name, refused)
    time.sleep = lambda _seconds: None
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
