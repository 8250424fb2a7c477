"""`python -m reproducers`: one request on standard input, events and one result as answers."""

import importlib
import os
import sys
from typing import Final

from reproducers.protocol import Event, Result, dump, load_request

_ANSWERS: Final = {
    "reproducer": "reproducers.upstream.attempt",
    "launch": "reproducers.launch.answer",
    "synthesized": "reproducers.synthesis.answer",
    "synthesize": "reproducers.synthesis.answer",
}
"""For each kind of request the module whose `answer(request, emit)` gives the result."""


def main() -> int:
    """Answer one request."""
    fd = int(os.environ.get("REPROBASE_EVENTS_FD") or 0) or os.dup(1)
    out = os.fdopen(fd, "w")

    def emit(message: Event | Result) -> None:
        out.write(dump(message) + "\n")
        out.flush()

    try:
        request = load_request(sys.stdin.readline())
    except ValueError as e:
        print(f"reproducers: {e}", file=sys.stderr)
        return 2
    os.dup2(2, 1)
    module = importlib.import_module(_ANSWERS[request.kind])
    emit(module.answer(request, emit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
