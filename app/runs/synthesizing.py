"""Looks for triggers and fixes of a release's sites: in walled processes, results as they come.

Where the processes are started, on this machine or on the nodes of a cluster, is `app.spread`'s.
"""

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from app.exceptions import UnavailableError
from app.preflight.configs import presets
from app.runs.looking import (
    LIMITS,
    Answers,
    Found,
    Here,
    Task,
    look_at,
    look_for_lines,
    seconds_for,
)
from app.runs.sandbox import stream
from app.scanner.records import ScannedSite
from app.settings import PROJECT_ROOT, Settings
from app.spread import Spread
from app.wheels import Wheel
from app.wheels.arrived import sent
from reproducers.protocol import Event, Request, Result, Subject

BATCH: Final = 400
"""Sites a sandbox: loading a release takes seconds, and what is lost with one is bounded."""
SENT_BATCH: Final = 150
"""The same for a node of a cluster, which tells nothing before a batch is done."""
LEAST_SENT = 60
"""Sites that are worth a sandbox of their own, whose start takes as long as a dozen or two."""
_SHARES_A_SLOT: Final = 3
_USUAL: Final = ("llama", "deepseek_v3", "qwen3_moe", "qwen3_next", "deepseek_v32")
"""Models that a line is tried with first."""
_LINE_FILES: Final = ("launching.py", "remedies.py")
"""What decides about launch lines."""
_NOT_OF_CALLS: Final = (*_LINE_FILES, "answer.py")


@cache
def program_digest() -> str:
    """A digest of what decides the results: another program looks again."""
    digest = hashlib.sha256()
    for path in sorted((PROJECT_ROOT / "reproducers" / "synthesis").glob("*.py")):
        if path.name not in _NOT_OF_CALLS:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def line_digest() -> str:
    """The same of what decides about launch lines."""
    digest = hashlib.sha256()
    for name in _LINE_FILES:
        digest.update((PROJECT_ROOT / "reproducers" / "synthesis" / name).read_bytes())
    return digest.hexdigest()[:16]


def site_payload(
    site: ScannedSite, before: Found | None = None, others: Sequence[str] = ()
) -> dict[str, Any]:
    """A site as the walled process needs it.

    Args:
        site: the site.
        before: what is known of it from elsewhere.
        others: patterns of the other texts that its message can have.
    """
    return {
        "siteId": site.site_id,
        "entryId": site.entry_id,
        "file": site.file,
        "function": site.function,
        "line": site.line,
        "kind": site.kind,
        "errorClass": site.error_class,
        "template": site.template,
        "pattern": "" if site.condition else site.pattern,
        "others": list(others),
        "before": before,
    }


def batches(sites: Iterable[dict[str, Any]], size: int = BATCH) -> list[list[dict[str, Any]]]:
    """Sites in batches; a file is never divided, since it is one worker's."""
    found: list[list[dict[str, Any]]] = [[]]
    for _, group in itertools.groupby(sites, key=lambda s: s["file"]):
        of_file = list(group)
        if found[-1] and len(found[-1]) + len(of_file) > size:
            found.append([])
        found[-1] += of_file
    return [b for b in found if b]


def synthesize(
    wheel: Wheel,
    sites: Sequence[dict[str, Any]],
    settings: Settings,
    on_found: Callable[[dict[str, Any], Found], None],
    *,
    spread: Spread,
    seed: int = 0,
    cancel: threading.Event | None = None,
) -> None:
    """Look at sites, several batches at a time.

    Args:
        wheel: the release.
        sites: see `site_payload`, ordered by file.
        settings: where the caches lie.
        on_found: told each site with its result, one at a time.
        spread: who starts the sandboxes, one for each batch.
        seed: passed on.
        cancel: when set, what runs is ended.

    Raises:
        UnavailableError: sandboxes give nothing, or cannot be started; a node was lost too often.
        BadWheelError: the wheel is damaged.
    """
    by_id = {str(s["siteId"]): s for s in sites}

    def tell(site_id: str, found: Found) -> None:
        on_found(by_id[site_id], found)

    # Small batches where there are few sites, so that every job has something to do.
    size = max(1, min(BATCH, -(-len(sites) // spread.slots)))
    if not spread.here:
        size = min(size, max(LEAST_SENT, min(SENT_BATCH, size // _SHARES_A_SLOT)))
    _done(
        look_at,
        batches(sites, size),
        Task(wheel, seed),
        tell=tell,
        settings=settings,
        spread=spread,
        cancel=cancel,
    )


def confirm_lines(
    wheel: Wheel,
    found: Sequence[Found],
    settings: Settings,
    on_line: Callable[[Found, dict[str, Any]], None],
    *,
    spread: Spread,
    cancel: threading.Event | None = None,
) -> None:
    """Look for launch lines that show what was found of the argument checks.

    Args:
        wheel: the release.
        found: results with a trigger.
        settings: where the caches lie.
        on_line: told each result with what was found of its line, one at a time.
        spread: who starts the sandboxes.
        cancel: when set, what runs is ended.

    Raises:
        UnavailableError: a sandbox gives nothing, or cannot be started; a node was lost too often.
    """
    by_id = {str(f["siteId"]): f for f in found}

    def tell(site_id: str, line: Found) -> None:
        on_line(by_id[site_id], line)

    known = [{k: f[k] for k in ("file", "line", "fix")} for f in found]
    texts: dict[str, str] = {
        str(name): json.dumps(p.config) for name, p in presets().items() if not p.draft
    }
    first: dict[str, str] = {name: texts[name] for name in _USUAL if name in texts}
    count = spread.slots
    parts = [part for i in range(count) if (part := list(found[i::count]))]
    task = Task(wheel, known=known, configs={**first, **texts})
    _done(look_for_lines, parts, task, tell=tell, settings=settings, spread=spread, cancel=cancel)


def _done(
    function: Callable[[Any, Any], Answers],
    pieces: Sequence[Any],
    task: Task,
    *,
    tell: Callable[[str, Found], None],
    settings: Settings,
    spread: Spread,
    cancel: threading.Event | None,
) -> None:
    """Have pieces done, and tell what they find, as soon as it is known."""
    stop = cancel or threading.Event()
    if spread.here:
        task = replace(task, here=Here(settings, tell, stop))
    elif isinstance(task.wheel, Wheel):
        task = replace(task, wheel=sent(task.wheel))
    try:
        for _, answers in spread.each(function, pieces, spread.share(task)):
            for site_id, found in answers:
                tell(site_id, found)
    except BaseException:
        stop.set()
        raise


def run_again(
    subject: Subject, found: Sequence[Found], *, bytecode: str | None = None
) -> dict[str, Found]:
    """Run stored results once more on an unpacked release; how trigger and fix ended, by site.

    Args:
        subject: the release, or a copy of it in which checks were taken out.
        found: results with a trigger.
        bytecode: where compiled modules are.

    Raises:
        UnavailableError: the sandbox ended before it was done.
    """
    ordered = sorted(found, key=lambda f: (f["file"], f["line"]))
    request = Request(
        kind="synthesize",
        subject=subject,
        scratch="",
        bytecode=bytecode,
        limits=replace(LIMITS, seconds=seconds_for(len(ordered))),
        payload={"task": "again", "sites": ordered},
    )
    ended: dict[str, Found] = {}
    for message in stream(request):
        if isinstance(message, Event) and message.event == "value":
            ended[message.text] = dict(message.data)
        elif isinstance(message, Result) and message.outcome != "returned":
            raise UnavailableError(f"Nothing could be run again: {message.reason}.")
    return ended
