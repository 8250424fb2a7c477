"""Has a line checked behind the wall: in a process of its own, or in one that is kept loaded."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from app.exceptions import UnavailableError
from app.runs import bytecode_dir, release_subject, stream
from app.settings import Settings
from app.wheels import Wheel
from reproducers.protocol import Event, Limits, Request, Result

LIMITS: Final = Limits(seconds=60, memory_bytes=6 << 30, processes=128)
HISTORY_LIMITS: Final = Limits(seconds=600, memory_bytes=12 << 30, processes=256)
MAIN: Final = "main"
ISOLATION: Final = "isolation"


@dataclass(frozen=True, slots=True)
class Other:
    """A release that is asked about findings of another one."""

    version: str
    root: str
    """Folder that holds its package."""


@dataclass(slots=True)
class Answer:
    """What came back from behind the wall."""

    main: dict[str, Any] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    """By version, for each finding what that release said; see `reproducers.launch.elsewhere`."""
    isolation: list[str] = field(default_factory=list)


def request_for(
    wheel: Wheel,
    settings: Settings,
    payload: Mapping[str, Any],
    others: Sequence[Other] = (),
) -> Request:
    """A request for a check.

    Args:
        wheel: the release.
        settings: where the caches lie.
        payload: see `reproducers.launch.answer`.
        others: releases that are asked about each finding as well.
    """
    return Request(
        kind="launch",
        subject=release_subject(wheel, settings),
        scratch="",
        bytecode=str(bytecode_dir(settings)),
        readable=tuple(o.root for o in others),
        payload={**payload, "others": [asdict(o) for o in others]},
        limits=HISTORY_LIMITS if others else LIMITS,
    )


def run(
    request: Request,
    *,
    on_event: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> Answer:
    """Check a line in a process of its own.

    Args:
        request: see `request_for`.
        on_event: told what is going on.
        cancel: when set, the check is ended.

    Raises:
        UnavailableError: the check itself could not be run; the message says why.
    """
    answer = Answer()
    for message in stream(request, cancel=cancel):
        if isinstance(message, Result):
            _conclude(answer, message)
        elif message.event == "value" and message.text == MAIN:
            answer.main = message.data
        elif isinstance(message.data.get("said"), list):
            answer.said[message.text] = [str(s) for s in message.data["said"]]
            if on_event is not None:
                on_event(f"asked {message.text}")
    _check_whole(answer, request.subject.name)
    return answer


def run_each(request: Request) -> Iterator[tuple[str, Answer]]:
    """Check a line on each of the request's other releases; whole answers as they come.

    Args:
        request: see `request_for`; its payload's task is `each`.

    Yields:
        The version, and its answer: if the check could not be run there, `main` has `died`.
    """
    isolation: list[str] = []
    for message in stream(request):
        if isinstance(message, Event) and message.event == "value":
            if message.text == ISOLATION:
                isolation = list(message.data[ISOLATION])
            else:
                yield message.text, Answer(main=message.data, isolation=isolation)


def _check_whole(answer: Answer, name: str) -> None:
    if not answer.main or "died" in answer.main:
        why = str(answer.main.get("died") or "it ended without an answer")
        raise UnavailableError(f"The check of {name} could not be run: {why}")


def _conclude(answer: Answer, result: Result) -> None:
    answer.isolation = result.isolation
    if not answer.main:
        answer.main = {"died": result.reason or "it ended without an answer"}
        tail = " ".join(result.stdout.split())[-300:]
        if tail:
            answer.main["died"] += f" ({tail})"
