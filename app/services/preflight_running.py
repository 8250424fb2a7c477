"""Has a line checked behind the wall: in a process of its own, or in one that is kept loaded."""

from collections.abc import Callable, Mapping, Sequence
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


def run(request: Request, *, on_event: Callable[[str], None] | None = None) -> Answer:
    """Check a line in a process of its own.

    Args:
        request: see `request_for`.
        on_event: told what is going on.

    Raises:
        UnavailableError: the check itself could not be run; the message says why.
    """
    answer = Answer()
    for message in stream(request):
        if isinstance(message, Event):
            _take(answer, message, on_event)
        else:
            _conclude(answer, message)
    if not answer.main or "died" in answer.main:
        why = str(answer.main.get("died") or "it ended without an answer")
        raise UnavailableError(f"The check of {request.subject.name} could not be run: {why}")
    return answer


def _take(answer: Answer, event: Event, on_event: Callable[[str], None] | None) -> None:
    if event.event != "value":
        return
    if event.text == MAIN:
        answer.main = event.data
    elif isinstance(event.data.get("said"), list):
        answer.said[event.text] = [str(s) for s in event.data["said"]]
        if on_event is not None:
            on_event(f"asked {event.text}")


def _conclude(answer: Answer, result: Result) -> None:
    answer.isolation = result.isolation
    if not answer.main:
        answer.main = {"died": result.reason or "it ended without an answer"}
        tail = " ".join(result.stdout.split())[-300:]
        if tail:
            answer.main["died"] += f" ({tail})"
