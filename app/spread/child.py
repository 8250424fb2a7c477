"""The child of `app.spread.processes`: a function and what is shared, then items, one at a time.

Answers go to the standard output that it was started with, as a tuple of one, or as the error that
a piece met; what a piece prints goes to standard error.
"""

import os
import pickle
import signal
import sys
from typing import IO, Any

from app.exceptions import UnavailableError


def _work(asked: IO[bytes], answers: IO[bytes]) -> None:
    function, shared = pickle.load(asked)  # noqa: S301  # our own parent
    while True:
        try:
            item = pickle.load(asked)  # noqa: S301  # our own parent
        except EOFError:
            return
        try:
            answer: Any = (function(item, shared),)
        except Exception as e:  # noqa: BLE001  # the parent raises it
            answer = _portable(e)
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _portable(error: Exception) -> Exception:
    """The error, or one that says the same where it cannot be taken to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  # made a moment ago
    except Exception:  # noqa: BLE001  # a class decides itself what it raises here
        return UnavailableError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    kept = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _work(sys.stdin.buffer, kept)
