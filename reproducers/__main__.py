"""`python -m reproducers`: one request on standard input, events and one result as answers.

This process only keeps watch. The request is answered in a child behind the wall, by the module
that knows its kind; see `reproducers.wall.keeper`.
"""

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from reproducers.protocol import Event, Request, Result, load_request
from reproducers.wall.keeper import keep
from reproducers.wall.watch import CallerGoneError

_ANSWERS: Final = {
    "reproducer": "reproducers.upstream.attempt",
    "launch": "reproducers.launch.answer",
    "synthesized": "reproducers.synthesis.answer",
    "synthesize": "reproducers.synthesis.answer",
}
"""For each kind of request the module whose `answer(request, emit)` gives the result."""


def main() -> int:
    """Answer one request; exit code 0 if there was an answer, 2 if there was no request."""
    fd = _answers_fd()
    try:
        request = load_request(sys.stdin.readline())
    except ValueError as e:
        print(f"reproducers: {e}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _stop)
    try:
        keep(request, _answer, lambda line: _send(fd, line), fd)
    except (CallerGoneError, BrokenPipeError):
        # Nobody is left to remove the scratch folder; it is empty, files were in memory.
        with contextlib.suppress(OSError):
            os.rmdir(request.scratch)  # noqa: PTH106  # beside the other calls of os
        return 130
    except KeyboardInterrupt:
        return 130
    return 0


def _answer(request: Request, emit: Callable[[Event], None]) -> Result:
    """In the worker: import what answers this kind of request, and let it."""
    try:
        module: Any = importlib.import_module(_ANSWERS[request.kind])
    except ModuleNotFoundError as e:
        if e.name is None or not _ANSWERS[request.kind].startswith(e.name):
            raise
        return Result(outcome="skipped", reason=f"requests of kind {request.kind} have no answer")
    result: Result = module.answer(request, emit)
    return result


def _answers_fd() -> int:
    """Where answers go; then what the engine prints goes to standard error."""
    named = os.environ.pop("REPROBASE_EVENTS_FD", "")
    if named.isdigit():
        return int(named)
    fd = os.dup(1)
    os.dup2(2, 1)
    return fd


def _send(fd: int, line: str) -> None:
    data = line.encode("utf-8", "replace") + b"\n"
    while data:
        data = data[os.write(fd, data) :]


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
