"""Pieces of synthesis: a batch of sites, or of results that a launch line is looked for.

A piece done by a thread of this process tells what it finds at once; one done by another machine
gives it back when it is done, and has its wheel put into that machine's cache first.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.exceptions import UnavailableError
from app.runs.requests import bytecode_dir, release_subject
from app.runs.sandbox import from_command_line, stream
from app.settings import Settings, load_settings
from app.wheels import Wheel
from app.wheels.arrived import SentWheel, arrived
from reproducers.protocol import Limits, Request, Result

_SECONDS_A_SITE: Final = 20.0
_SECONDS_A_LINE: Final = 60.0
LIMITS: Final = Limits(memory_bytes=8 << 30, file_bytes=256 << 20, output_bytes=1 << 20)
Found = dict[str, Any]
Sites = Sequence[dict[str, Any]]
Answers = list[tuple[str, Found]]
"""Ids of sites, each with what was found."""


def seconds_for(sites: int) -> float:
    """How long so many sites may take, all together."""
    return 120.0 + _SECONDS_A_SITE * sites


@dataclass(slots=True)
class Here:
    """What a piece done in this process is told; one on another machine has none of it."""

    settings: Settings
    tell: Callable[[str, Found], None]
    """Called with a site's id and what was found, one at a time."""
    stop: threading.Event
    turn: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Task:
    """What all pieces of one question share."""

    wheel: Wheel | SentWheel
    seed: int = 0
    known: Sites = ()
    """For launch lines: all results, by which a line's values are chosen."""
    configs: Mapping[str, str] = field(default_factory=dict)
    here: Here | None = None


class _Teller:
    """Tells at once, or keeps for the answer."""

    def __init__(self, here: Here | None) -> None:
        self._here = here
        self.kept: Answers = []

    def __call__(self, site_id: str, found: Found) -> None:
        if self._here is None:
            self.kept.append((site_id, found))
            return
        with self._here.turn:
            self._here.tell(site_id, found)


def look_at(batch: Sites, task: Task) -> Answers:
    """Look for triggers and fixes of a batch of sites.

    Returns:
        What was found and was not told yet.

    Raises:
        UnavailableError: the sandbox gives nothing, or cannot be started.
        BadWheelError: the wheel is damaged.
    """
    request, stop, tell = _begun(task)
    left = {str(s["siteId"]): s for s in batch}
    while left and not stop.is_set():
        sites = list(left.values())
        limits = replace(request.limits, seconds=seconds_for(len(sites)))
        answered = 0
        result: Result | None = None
        asked = replace(request, payload={"sites": sites}, limits=limits)
        for message in stream(asked, cancel=stop):
            if isinstance(message, Result):
                result = message
            elif message.event == "value" and left.pop(message.text, None) is not None:
                answered += 1
                tell(message.text, dict(message.data))
        if left and not answered and not stop.is_set():
            why = result.reason if result is not None else "no answer"
            if len(sites) == len(batch) or result is None or result.outcome == "skipped":
                raise UnavailableError(f"Nothing could be looked at: {why}.")
            # The sandbox itself ended at this site: it is recorded, the rest goes on.
            first = str(sites[0]["siteId"])
            del left[first]
            tell(first, {"level": "none", "trigger": None, "fix": None, "reason": "died",
                         "detail": str(why), "seconds": 0.0})  # fmt: skip
    return tell.kept


def look_for_lines(part: Sequence[Found], task: Task) -> Answers:
    """Look for launch lines of results; see `look_at`."""
    request, stop, tell = _begun(task)
    left = {str(f["siteId"]): f for f in part}
    while left and not stop.is_set():
        asked = replace(
            request,
            limits=replace(LIMITS, seconds=120.0 + _SECONDS_A_LINE * len(left)),
            payload={
                "task": "launch",
                "found": list(left.values()),
                "known": list(task.known),
                "configs": dict(task.configs),
            },
        )
        before = len(left)
        for message in stream(asked, cancel=stop):
            if isinstance(message, Result) or message.event != "value":
                continue
            if left.pop(message.text, None) is not None:
                tell(message.text, dict(message.data))
        if len(left) == before:
            break  # it gives nothing more: what is left has no line
    return tell.kept


def _begun(task: Task) -> tuple[Request, threading.Event, _Teller]:
    here = task.here
    settings = here.settings if here else load_settings()
    if here is None:
        from_command_line()  # whoever asked did so from there
    wheel = task.wheel
    if isinstance(wheel, SentWheel):
        wheel = arrived(wheel, settings)
    request = Request(
        kind="synthesize",
        subject=release_subject(wheel, settings),
        scratch="",
        seed=task.seed,
        bytecode=str(bytecode_dir(settings)),
        limits=LIMITS,
    )
    return request, here.stop if here else threading.Event(), _Teller(here)
