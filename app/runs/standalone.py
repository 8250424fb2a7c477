"""One reproducer by itself: what a downloaded file runs, without a catalog and without a site.

The file brings what the catalog knows of the entry (`Facts`); the rest is what every run goes
through: the user's own pip fetches the release, a subprocess puts the wall up, raises the error
with the release's real code and lets the fix pass.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from app.exceptions import BadInputError, ReprobaseError
from app.runs.requests import CUDA_LIMITS, LIMITS, release_request
from app.runs.sandbox import execute, from_command_line, needs_line, with_line
from app.runs.verdict import passed
from app.settings import load_settings
from app.wheels import fetch, parse_release
from reproducers.protocol import Device, Event, Request, Result, Step, Subject

_REFERENCE: Final = "reference"
_RED, _GREEN, _DIM, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the catalog knows of an entry, as far as running it needs."""

    slug: str
    title: str
    silent: bool
    subjects: dict[str, dict[str, Any]]
    """Subject, oldest first → {"template", "pattern", "errorClass", "sites"}."""
    snippets: dict[str, str] = field(default_factory=dict)
    """The page's code by its heading: it is executed with the fix."""

    def as_json(self) -> str:
        """One line for the file."""
        return json.dumps(asdict(self), ensure_ascii=True)


def run(facts: Mapping[str, Any], arguments: Sequence[str]) -> int:
    """Run the steps and tell what happened.

    Args:
        facts: `Facts` as a mapping.
        arguments: of the command line.

    Returns:
        0: trigger and fix showed what they are meant to; 1: one did not; 2: bad input.
    """
    given = Facts(**facts)
    args = _parser(given).parse_args(arguments)
    from_command_line()
    try:
        good = _run(given, args.on, args.step, args.device)
    except ReprobaseError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    return 0 if good else 1


def _parser(facts: Facts) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=facts.title, prog=f"{facts.slug}.py")
    known = list(facts.subjects)
    parser.add_argument(
        "--on", default=known[-1], metavar="SUBJECT", help=f"one of {', '.join(known)}"
    )
    parser.add_argument("--step", choices=("trigger", "fix", "both"), default="both")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    return parser


def _run(facts: Facts, subject: str, choice: str, device: Device) -> bool:
    steps: tuple[Step, ...] = ("trigger", "fix") if choice == "both" else (cast("Step", choice),)
    trigger: Result | None = None
    good = True
    for step in steps:
        request = _request(facts, subject, step, device)
        if trigger is not None and needs_line(request):
            request = with_line(request, trigger)
        result = execute(request, _progress)
        trigger = result if step == "trigger" else None
        holds = passed(result, step, silent=facts.silent)
        _tell(step, subject, result, holds=holds)
        good = good and holds
    return good


def _request(facts: Facts, subject: str, step: Step, device: Device) -> Request:
    place = facts.subjects.get(subject)
    if place is None:
        raise BadInputError(
            f"This file does not know where {subject} has the error. It knows: "
            f"{', '.join(facts.subjects)}. Download it again once that release is scanned."
        )
    shared: dict[str, Any] = {
        "slug": facts.slug,
        "step": step,
        "template": place["template"],
        "pattern": place["pattern"],
        "error_class": place["errorClass"],
        "sites": tuple(place["sites"]),
        "snippets": facts.snippets,
        "device": device,
    }
    if subject == _REFERENCE:
        limits = CUDA_LIMITS if device == "cuda" else LIMITS
        where = Subject(name=_REFERENCE)
        return Request(kind="reproducer", subject=where, scratch="", limits=limits, **shared)
    settings = load_settings()
    wheel = fetch(*parse_release(subject), settings, on_progress=_say)
    return release_request(wheel, settings, **shared)


def _progress(event: Event) -> None:
    if event.event in ("started", "progress"):
        _say(event.text)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _tell(step: str, subject: str, result: Result, *, holds: bool) -> None:
    """What a step showed: trigger red, fix green, and the values of both."""
    red, green, dim, plain = (
        (_RED, _GREEN, _DIM, _PLAIN) if sys.stdout.isatty() else ("", "", "", "")
    )
    color = (red if step == "trigger" else green) if holds else ""
    what = {"raised": "raises", "returned": "returns"}.get(result.outcome, result.outcome)
    head = what if holds else f"{what}, which is not what it is meant to show"
    print(
        f"{color}{step.capitalize()} on {subject}: {head}{plain} {dim}{result.seconds:.1f} s{plain}"
    )
    for frame in result.traceback:
        print(f"  {dim}{frame.file}:{frame.line} in {frame.function or '<module>'}{plain}")
    if result.message is not None:
        print(f"  {color}{result.error_class}: {result.message}{plain}")
    elif result.reason:
        print(f"  {result.reason}")
    for check in result.checks:
        got = f"  {dim}{check['got']}{plain}" if check.get("got") is not None else ""
        print(f"  {'ok ' if check.get('ok') is True else 'NOT'} {check.get('text')}{got}")
    for name, value in result.values.items():
        print(f"  {name} = {value}")
    if result.stdout.strip():
        print(result.stdout.rstrip())
