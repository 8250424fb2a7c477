"""Looks for triggers and fixes of a release's sites: in walled processes, results as they come."""

import hashlib
import itertools
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any, Final

from app.exceptions import UnavailableError
from app.preflight.configs import presets
from app.runs.requests import bytecode_dir, release_subject
from app.runs.sandbox import stream
from app.scanner.records import ScannedSite
from app.settings import PROJECT_ROOT, Settings
from app.wheels import Wheel
from reproducers.protocol import Event, Limits, Request, Result, Subject

BATCH: Final = 400
"""Sites a sandbox: loading a release takes seconds, and what is lost with one is bounded."""
_SECONDS_A_SITE: Final = 20.0
_SECONDS_A_LINE: Final = 60.0
_USUAL: Final = ("llama", "deepseek_v3", "qwen3_moe", "qwen3_next", "deepseek_v32")
"""Models that a line is tried with first."""
_ABOUT_LINES: Final = ("launching.py", "answer.py")
LIMITS: Final = Limits(memory_bytes=8 << 30, file_bytes=256 << 20, output_bytes=1 << 20)
Found = dict[str, Any]


@cache
def program_digest() -> str:
    """A digest of what decides the results: another program looks again."""
    digest = hashlib.sha256()
    for path in sorted((PROJECT_ROOT / "reproducers" / "synthesis").glob("*.py")):
        if path.name not in _ABOUT_LINES:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def line_digest() -> str:
    """The same of what decides about launch lines."""
    path = PROJECT_ROOT / "reproducers" / "synthesis" / "launching.py"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


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
    jobs: int = 2,
    seed: int = 0,
    cancel: threading.Event | None = None,
) -> None:
    """Look at sites, several batches at a time.

    Args:
        wheel: the release.
        sites: see `site_payload`, ordered by file.
        settings: where the caches lie.
        on_found: told each site with its result, one at a time.
        jobs: how many sandboxes at a time.
        seed: passed on.
        cancel: when set, what runs is ended.

    Raises:
        UnavailableError: sandboxes give nothing, or cannot be started.
        BadWheelError: the wheel is damaged.
    """
    subject = release_subject(wheel, settings)
    request = Request(
        kind="synthesize",
        subject=subject,
        scratch="",
        seed=seed,
        bytecode=str(bytecode_dir(settings)),
        limits=LIMITS,
    )
    stop = cancel or threading.Event()
    turn = threading.Lock()
    # Small batches where there are few sites, so that every job has something to do.
    size = max(1, min(BATCH, -(-len(sites) // max(1, jobs))))
    waiting = deque(batches(sites, size))

    def work() -> None:
        while not stop.is_set():
            with turn:
                if not waiting:
                    return
                batch = waiting.popleft()
            try:
                _one_batch(replace(request), batch, on_found, turn, stop)
            except BaseException:
                stop.set()
                raise

    with ThreadPoolExecutor(max(1, jobs), thread_name_prefix="synthesize") as pool:
        futures = [pool.submit(work) for _ in range(max(1, jobs))]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            raise


def confirm_lines(
    wheel: Wheel,
    found: Sequence[Found],
    settings: Settings,
    on_line: Callable[[Found, dict[str, Any]], None],
    *,
    jobs: int = 2,
    cancel: threading.Event | None = None,
) -> None:
    """Look for launch lines that show what was found of the argument checks.

    Args:
        wheel: the release.
        found: results with a trigger.
        settings: where the caches lie.
        on_line: told each result with what was found of its line, one at a time.
        jobs: how many sandboxes at a time.
        cancel: when set, what runs is ended.

    Raises:
        UnavailableError: a sandbox gives nothing, or cannot be started.
    """
    subject = release_subject(wheel, settings)
    stop = cancel or threading.Event()
    turn = threading.Lock()
    known = [{k: f[k] for k in ("file", "line", "fix")} for f in found]
    texts = {name: json.dumps(p.config) for name, p in presets().items() if not p.draft}
    first = {name: texts[name] for name in _USUAL if name in texts}
    parts = [list(found[i::jobs]) for i in range(max(1, jobs))]

    def work(part: list[Found]) -> None:
        left = {str(f["siteId"]): f for f in part}
        while left and not stop.is_set():
            request = Request(
                kind="synthesize",
                subject=subject,
                scratch="",
                bytecode=str(bytecode_dir(settings)),
                limits=replace(LIMITS, seconds=120.0 + _SECONDS_A_LINE * len(left)),
                payload={
                    "task": "launch",
                    "found": list(left.values()),
                    "known": known,
                    "configs": {**first, **texts},
                },
            )
            before = len(left)
            for message in stream(request, cancel=stop):
                if isinstance(message, Event) and message.event == "value":
                    result = left.pop(message.text, None)
                    if result is not None:
                        with turn:
                            on_line(result, dict(message.data))
            if len(left) == before:
                return  # it gives nothing more: what is left has no line

    with ThreadPoolExecutor(max(1, jobs), thread_name_prefix="lines") as pool:
        try:
            for future in [pool.submit(work, part) for part in parts if part]:
                future.result()
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
        limits=replace(LIMITS, seconds=120.0 + _SECONDS_A_SITE * len(ordered)),
        payload={"task": "again", "sites": ordered},
    )
    ended: dict[str, Found] = {}
    for message in stream(request):
        if isinstance(message, Event) and message.event == "value":
            ended[message.text] = dict(message.data)
        elif isinstance(message, Result) and message.outcome != "returned":
            raise UnavailableError(f"Nothing could be run again: {message.reason}.")
    return ended


def _one_batch(
    request: Request,
    batch: list[dict[str, Any]],
    on_found: Callable[[dict[str, Any], Found], None],
    turn: threading.Lock,
    stop: threading.Event,
) -> None:
    left = {str(s["siteId"]): s for s in batch}
    while left and not stop.is_set():
        sites = list(left.values())
        limits = replace(request.limits, seconds=120.0 + _SECONDS_A_SITE * len(sites))
        answered = 0
        result: Result | None = None
        asked = replace(request, payload={"sites": sites}, limits=limits)
        for message in stream(asked, cancel=stop):
            if isinstance(message, Result):
                result = message
            elif isinstance(message, Event) and message.event == "value":
                site = left.pop(message.text, None)
                if site is not None:
                    answered += 1
                    with turn:
                        on_found(site, dict(message.data))
        if left and not answered and not stop.is_set():
            why = result.reason if result is not None else "no answer"
            if len(sites) == len(batch) or result is None or result.outcome == "skipped":
                raise UnavailableError(f"Nothing could be looked at: {why}.")
            # The sandbox itself ended at this site: it is recorded, the rest goes on.
            first = sites[0]
            del left[str(first["siteId"])]
            with turn:
                on_found(first, {"level": "none", "trigger": None, "fix": None, "reason": "died",
                                 "detail": str(why), "seconds": 0.0})  # fmt: skip
