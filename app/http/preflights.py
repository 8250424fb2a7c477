"""Preflight over HTTP, for the page's form and the JSON route alike: bounded, and a few at once."""

import threading

from starlette.requests import Request

from app.exceptions import BadInputError, BusyError, TooLargeError
from app.http.permission import check_may_run
from app.http.state import State, state_of
from app.preflight.report import Report
from app.services.preflight import Question, check

MOST_TEXT = 64 << 10
MOST_CONFIG = 1 << 20
AT_ONCE = 4
SINCE_SECONDS = 25.0
"""How long other releases may be asked about a line; their question is put apart from the first."""
ADVICE = (
    "Send the launch line alone, and of the model only its config.json: the line may have "
    f"{MOST_TEXT >> 10} KB, config.json {MOST_CONFIG >> 20} MB."
)
"""What to do with a question that is too large."""
_slots = threading.BoundedSemaphore(AT_ONCE)


def check_preflight_allowed(request: Request) -> None:
    """Preflight executes engine code: it is allowed where runs are.

    Raises:
        ForbiddenError: it may not run for this request; the message says what to type instead.
    """
    check_may_run(request, state_of(request).settings, "reprobase preflight -- COMMAND")


def preflight(
    state: State,
    *,
    line: str,
    release: str = "",
    gpu: str = "",
    config: str = "",
    since: bool = False,
) -> Report:
    """Check a launch line from the web: paths on it are never looked into.

    Args:
        state: of the application; keeps releases loaded between checks.
        line: the launch line as it was pasted.
        release: `sglang==0.5.23`; the default release if empty.
        gpu: which accelerator is simulated; guessed from the line if empty.
        config: text of the model's config.json, if given.
        since: ask the other releases too, which takes seconds.

    Raises:
        BadInputError: the line, release, GPU or config cannot be used.
        TooLargeError: line or config are over their limit.
        BusyError: too many checks go on.
    """
    if len(line) > MOST_TEXT:
        raise TooLargeError(f"The line has {len(line)} characters; {MOST_TEXT} are the most.")
    if len(config) > MOST_CONFIG:
        raise TooLargeError(
            f"config.json has {len(config)} characters; {MOST_CONFIG} are the most."
        )
    if not line.strip():
        raise BadInputError("There is nothing to check: the launch line is empty.")
    question = Question(
        line=line,
        release=release.strip() or state.settings.default_release,
        gpu=gpu.strip() or None,
        config_text=config if config.strip() else None,
        local=False,
        patience=SINCE_SECONDS if since else 0.0,
        passing=since,
    )
    if not _slots.acquire(blocking=False):
        raise BusyError(f"{AT_ONCE} checks go on already; try again in a few seconds.")
    try:
        return check(question, state.settings, pool=state.preflight)
    finally:
        _slots.release()
