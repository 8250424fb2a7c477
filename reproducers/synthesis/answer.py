"""Requests of kind `synthesize` (look for triggers and fixes) and `synthesized` (run one again)."""

import itertools
import logging
import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from reproducers.launch.release import Release
from reproducers.protocol import Event, Frame, Request, Result
from reproducers.synthesis import pool
from reproducers.synthesis.bounds import forbid
from reproducers.synthesis.guards import watch_guards
from reproducers.synthesis.launching import Launching
from reproducers.synthesis.loaded import load
from reproducers.synthesis.machine import Machine
from reproducers.synthesis.running import Runner
from reproducers.synthesis.solving import refusal, solve
from reproducers.synthesis.specs import from_json
from reproducers.synthesis.targets import NoTargetError, target_of
from reproducers.upstream.matching import judge

Emit = Callable[[Event], None]
SKIPPED: Final = "skipped"


def answer(request: Request, emit: Emit) -> Result:
    """Answer a request of either kind."""
    if request.subject.root is None:
        return Result(outcome=SKIPPED, reason="only releases have what could be found")
    if request.payload.get("task") == "launch":
        return _lines(request, emit)
    machine = load(request)
    if request.kind == "synthesized":
        return _again(request, machine)
    return _look(request, machine, emit)


def _look(request: Request, machine: Machine, emit: Emit) -> Result:
    """Each site of the payload: an event with its result, in the payload's order by files."""
    root = Path(str(request.subject.root))
    payload = request.payload
    of_leaf = payload.get("constants", {})
    forbid()
    os.chdir(request.scratch)

    def one(site: pool.Site) -> dict[str, Any]:
        if payload.get("task") == "again":
            return once_more(root, site, machine)
        return solve(root, site, machine, of_leaf)

    count = 0
    for _, group in itertools.groupby(payload["sites"], key=lambda s: s["file"]):
        for site, result in pool.solved(list(group), one):
            count += 1
            emit(Event(event="value", text=str(site["siteId"]), data=result))
    return Result(
        outcome="returned",
        payload={"count": count},
        torch=_torch(),
        python=platform.python_version(),
    )


def _lines(request: Request, emit: Emit) -> Result:
    """Each found trigger of the payload: an event with its launch line, if there is one."""
    payload = request.payload
    release = Release(
        Path(str(request.subject.root)),
        request.subject.version or "0",
        Path(request.bytecode) if request.bytecode else None,
    )
    os.chdir(request.scratch)
    release.load("h100")
    logging.disable(logging.CRITICAL)
    launching = Launching(release, payload["known"], payload["configs"])
    for result in payload["found"]:
        emit(Event(event="value", text=str(result["siteId"]), data=launching.confirm(result)))
    return Result(
        outcome="returned",
        payload={"count": len(payload["found"])},
        torch=_torch(),
        python=platform.python_version(),
    )


def once_more(root: Path, stored: Mapping[str, Any], machine: Machine) -> dict[str, Any]:
    """Run a stored result again in a process that others use too; how each step ended.

    Args:
        root: folder that holds the wheel's packages, or a copy of it with the checks taken out.
        stored: a result with a trigger.
        machine: answers for accelerator and environment.
    """
    try:
        target = target_of(
            root, str(stored["file"]), int(stored["line"]), str(stored["kind"]), machine.lend
        )
    except NoTargetError as e:
        return {"trigger": None, "fix": None, "reason": str(e)}
    machine.bind()
    runner = Runner(target, machine)
    watch_guards(runner)
    values = {p: from_json(v) for p, v in stored["trigger"]["values"].items()}
    replaced = frozenset(stored["trigger"]["replaced"])
    runner.run({}, replaced)
    attempt = runner.run(values, replaced, plain=True)
    found: dict[str, Any] = {
        "trigger": attempt.end,
        "error": repr(attempt.error)[:200] if attempt.error else "",
        "refused": refusal(attempt, stored) if attempt.end == "hit" else "",
        "fix": None,
    }
    if stored.get("fix"):
        changes = {p: from_json(v) for p, v in stored["fix"]["changes"].items()}
        found["fix"] = runner.run({**values, **changes}, replaced, plain=True).end
    return found


def _again(request: Request, machine: Machine) -> Result:
    """Run a stored trigger or fix once more, and say whether it did what it did before."""
    root = Path(str(request.subject.root))
    stored: Mapping[str, Any] = request.payload["result"]
    site: Mapping[str, Any] = request.payload["site"]
    try:
        target = target_of(
            root, str(site["file"]), int(site["line"]), str(site["kind"]), machine.lend
        )
    except NoTargetError as e:
        return Result(outcome=SKIPPED, reason=str(e))
    machine.bind()
    runner = Runner(target, machine)
    watch_guards(runner)
    trigger = stored["trigger"]
    values = {p: from_json(v) for p, v in trigger["values"].items()}
    changes: dict[str, Any] = {}
    if request.step == "fix":
        if not stored.get("fix"):
            return Result(outcome=SKIPPED, reason="no fix was found for it")
        changes = {p: from_json(v) for p, v in stored["fix"]["changes"].items()}
    replaced = frozenset(trigger["replaced"])
    forbid()
    runner.run({}, replaced)  # modules that are loaded on the way are not to be timed
    attempt = runner.run({**values, **changes}, replaced, plain=True)
    shown = {p: str(v) for p, v in stored.get("shown", {}).items()}
    facts: dict[str, Any] = {
        "values": shown or {p: repr(v) for p, v in {**values, **changes}.items()},
        "torch": _torch(),
        "python": platform.python_version(),
        "substitutes": [
            {"name": p.removeprefix("call:"), "why": "its result is an input of this run",
             "code": "", "ran": True}
            for p in sorted(replaced)
        ],
    }  # fmt: skip
    error = attempt.error
    if error is not None and attempt.end in ("hit", "raised"):
        verdict = judge(error, request)
        hit = attempt.end == "hit"
        frames = [f for f in verdict.traceback if not f.file.startswith("reproducers/")]
        place = Frame(file=target.file, function=_function(request), line=target.place.site.lineno)
        matched = hit and (verdict.matched or verdict.reason is None or _same_place(verdict.reason))
        return Result(
            outcome="raised",
            reason=verdict.reason if not matched else None,
            error_class=verdict.error_class,
            message=verdict.message,
            site=place if hit else verdict.site,
            matched=matched,
            traceback=frames,
            guard_reached=attempt.guard and request.step == "fix",
            **facts,
        )
    if attempt.end == "stopped":
        return Result(outcome="timeout", reason=str(error), **facts)
    checks = [
        {"id": "returns", "text": "the same call returns, and its guard was evaluated",
         "ok": attempt.guard, "expected": True, "got": attempt.guard}
    ]  # fmt: skip
    reason = None if request.step == "fix" else "the trigger returned, nothing was raised"
    return Result(
        outcome="returned", reason=reason, guard_reached=attempt.guard, checks=checks, **facts
    )


def _function(request: Request) -> str:
    return str(request.payload["site"].get("function", ""))


def _same_place(reason: str) -> bool:
    """The class and the words are the entry's; the line was watched by the trace itself."""
    return reason.startswith(("it was raised in", "no frame of the release"))


def _torch() -> str | None:
    module = sys.modules.get("torch")
    return str(module.__version__) if module else None
