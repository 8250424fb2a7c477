"""One subprocess a request: events as they come, then exactly one result.

The child bounds itself (see `reproducers.wall`); what is here holds even if it does not: a
deadline, a bound on output that is counted and never buffered, and an end to everything it started
when the answer is there, when the caller stops listening, or when somebody presses Ctrl-C.
"""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.exceptions import UnavailableError
from app.runs.output import Output
from app.settings import PROJECT_ROOT
from reproducers.protocol import Event, Request, Result, dump, load_answer

_TICK: Final = 0.1
_GRACE: Final = 5.0
"""How much later than the child itself this side ends a run that is out of time, in seconds."""
_BLOCK: Final = 1 << 16
_PASSED_ON: Final = ("LANG", "LC_ALL", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")

_ALLOW_UNWALLED: Final = "REPROBASE_ALLOW_UNWALLED"
_permitted: set[str] = set()

OnEvent = Callable[[Event], None]


def from_command_line() -> None:
    """Say that this process's runs are asked for on a command line, by the one who started it.

    Only then does `REPROBASE_ALLOW_UNWALLED=1` count: engine code is run even where this machine
    cannot wall it in. Runs that are asked for through the web never are.
    """
    _permitted.add(_ALLOW_UNWALLED)


def execute(
    request: Request,
    on_event: OnEvent | None = None,
    *,
    cancel: threading.Event | None = None,
    niceness: int = 0,
) -> Result:
    """Run a request to its end.

    Args:
        request: what to run; its `scratch` is made here and removed again.
        on_event: told what happens while it runs.
        cancel: when set, the run is ended and its result says so.
        niceness: how far the run gives way to others, 0 to 19; where a system knows that.

    Returns:
        The one result, whatever the child did. Nothing that it started is alive then.

    Raises:
        UnavailableError: there is no room for a scratch folder, or no process could be started.
    """
    result = None
    for message in stream(request, cancel=cancel, niceness=niceness):
        if isinstance(message, Result):
            result = message
        elif on_event is not None:
            on_event(message)
    assert result is not None  # stream ends with one
    return result


def stream(
    request: Request, *, cancel: threading.Event | None = None, niceness: int = 0
) -> Iterator[Event | Result]:
    """Run a request: its events as they come, then its one result.

    Closing the iterator early ends the run. Where a library raises the error there is no guard of
    the engine's own: the line that the fix has to pass is the one at which the trigger left the
    engine, so the trigger is run first.

    Args:
        request: what to run; its `scratch` is made here and removed again.
        cancel: when set, the run is ended and its result says so.
        niceness: as in `execute`.

    Raises:
        UnavailableError: as `execute`.
    """
    if needs_line(request):
        yield Event(event="progress", text="the trigger first: which line has the fix to pass?")
        first = execute(replace(request, step="trigger"), cancel=cancel, niceness=niceness)
        request = with_line(request, first)
    yield from _stream_one(request, cancel, niceness)


def needs_line(request: Request) -> bool:
    """Whether a fix has sites of which none has a guard, and whose trigger was not seen yet."""
    return (
        request.kind == "reproducer"
        and request.step == "fix"
        and bool(request.sites)
        and not any(s.get("guardLines") or s.get("seen") for s in request.sites)
    )


def with_line(request: Request, trigger: Result) -> Request:
    """The request with the line at which its trigger left the engine as what the fix must pass.

    A trigger that did not show the error names no line: then there is nothing that the fix could
    pass, and it is not evidence. A silent error leaves the engine nowhere; its function has to
    return.
    """
    if not trigger.matched:
        return replace(request, sites=tuple({**s, "unwatched": True} for s in request.sites))
    if trigger.site is None:
        return replace(request, sites=tuple({**s, "seen": True} for s in request.sites))
    place = {"file": trigger.site.file, "function": trigger.site.function}
    line = trigger.site.line
    return replace(request, sites=({**place, "line": line, "guardLines": [line]},))


def _stream_one(
    request: Request, cancel: threading.Event | None, niceness: int
) -> Iterator[Event | Result]:
    try:
        scratch = tempfile.mkdtemp(prefix="reprobase-")
    except OSError as e:
        raise UnavailableError(f"There is no room for a scratch folder ({e}).") from e
    try:
        child = _Child(replace(request, scratch=scratch), niceness)
        try:
            yield from child.messages(cancel)
        finally:
            child.end()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Child:
    """A started subprocess with its two pipes."""

    def __init__(self, request: Request, niceness: int) -> None:
        self._request = request
        self._started = time.monotonic()
        self._pending = b""
        self._result: Result | None = None
        self._output = Output(request.limits.output_bytes, _hidden(request))
        self._answers, answers_in = os.pipe()
        command = [sys.executable, "-P", "-s", "-m", "reproducers"]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=request.scratch,
                env=_environment(answers_in),
                pass_fds=(answers_in,),
                start_new_session=True,
            )
        except OSError as e:
            os.close(self._answers)
            raise UnavailableError(f"No process can be started for a run ({e}).") from e
        finally:
            os.close(answers_in)
        if niceness:  # before it is told what to do, so that whatever it starts has it as well
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
            stdin.write(dump(request).encode() + b"\n")

    def messages(self, cancel: threading.Event | None) -> Iterator[Event | Result]:
        """Events until there is a result, which comes last."""
        assert self._process.stdout is not None
        deadline = self._started + self._request.limits.seconds + _GRACE
        printed = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(printed, selectors.EVENT_READ)
            while self._result is None and selector.get_map():
                if cancel is not None and cancel.is_set():
                    self._result = self._own_result("died", "stopped on request")
                elif time.monotonic() > deadline:
                    self._result = self._own_result("timeout", "still running, and deaf; ended")
                for key, _ in selector.select(_TICK):
                    data = os.read(key.fd, _BLOCK)
                    if not data:
                        selector.unregister(key.fd)
                    elif key.fd == printed:
                        yield from self._printed(data)
                    else:
                        yield from self._answered(data)
        yield from self._rest(printed)
        yield replace(self._final(), stdout=self._output.text())

    def _printed(self, data: bytes) -> Iterator[Event]:
        text = self._output.feed(data)
        if text:
            yield Event(event="output", text=text)

    def _answered(self, data: bytes) -> Iterator[Event]:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                message = load_answer(line.decode("utf-8", "replace"))
                if isinstance(message, Event):
                    yield message
                elif self._result is None:
                    self._result = message

    def _rest(self, printed: int) -> Iterator[Event]:
        """What was printed before the result and is still in the pipe."""
        os.set_blocking(printed, False)
        left = self._request.limits.output_bytes
        with contextlib.suppress(BlockingIOError):
            while left > 0 and (data := os.read(printed, _BLOCK)):
                left -= len(data)
                yield from self._printed(data)

    def _final(self) -> Result:
        if self._result is not None:
            return self._result
        self._process.wait()
        code = self._process.returncode
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return self._own_result("died", f"the runner itself ended {how}")

    def _own_result(self, outcome: str, reason: str) -> Result:
        seconds = round(time.monotonic() - self._started, 3)
        return Result(outcome=outcome, reason=reason, seconds=seconds)  # type: ignore[arg-type]  # one of its literals

    def end(self) -> None:
        """See the child and everything it started out of the world."""
        if self._result is not None and self._result.isolation:
            # It may still be filing compiled modules; it ends by itself.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._drain(_GRACE * 2)
        os.close(self._answers)
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._drain(_GRACE)
        # Its group, in case that it did not get to end what it started.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _drain(self, seconds: float) -> None:
        """Wait for its end, reading on so that a full pipe does not hold it up."""
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        os.set_blocking(fd, False)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError, OSError):
                os.read(fd, _BLOCK)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)
                return
        raise subprocess.TimeoutExpired(self._process.args, seconds)


def _environment(answers: int) -> dict[str, str]:
    """A small environment: secrets of the caller do not travel, and runs are alike everywhere."""
    kept = {k: os.environ[k] for k in (*_PASSED_ON, *_permitted) if k in os.environ}
    return kept | {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(PROJECT_ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "REPROBASE_EVENTS_FD": str(answers),
    }


def _hidden(request: Request) -> tuple[tuple[str, str], ...]:
    folders = [(str(PROJECT_ROOT) + "/", ""), (sys.prefix, "python"), (sys.base_prefix, "python")]
    folders.append((request.scratch, "scratch"))
    if request.subject.root:
        folders.append((request.subject.root.rstrip("/") + "/", ""))
    home = str(Path.home())
    return (*folders, *(((home, "~"),) if len(home) > 1 else ()))
