"""One request of kind `launch`: check a line, and say all that was found.

Payload: `task` (`check`, `each`, `options` or `warm`), `program`, `argv`, `env`, `gpu`, `configs`
(config.json texts by model), `files`, `unknown` (models without one), `panel` ([{"name", "about",
"text"}], configurations that stand for the kinds of models), `translations`, `whole`, `warm` (the
release stays loaded: a line for the other of its two servers is handed back), and `others`
([{"version", "root"}]): releases on which each finding is asked for as well, or with `passing` a
line that passes, for at most `patience` seconds from the start.

The main answer is sent as an event as soon as it is there, since asking other releases takes
longer; what these say follows as events. With the task `each` there is no main answer: every
release of `others` gives a whole one.
"""

import gc
import math
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from reproducers.launch import elsewhere, warm
from reproducers.launch.fresh import Job, fresh, settle, side_by_side
from reproducers.launch.later import asserted_later
from reproducers.launch.once import Line, Outcome
from reproducers.launch.options import options_of
from reproducers.launch.prepare import Prepared, prepare
from reproducers.launch.release import Release
from reproducers.launch.rounds import Examination, Examiner
from reproducers.protocol import Event, Request, Result

Emit = Callable[[Event], None]
Payload = Mapping[str, Any]
SECONDS: Final = 50.0
MAIN: Final = "main"
"""Name of the event that carries the main answer."""
_CALLERS: Final = (
    "LC_ALL",
    "TZ",
    "TRITON_INTERPRET",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "PYTHONPATH",
)


def answer(request: Request, emit: Emit) -> Result:
    """Check the request's line on its release, then ask the other releases."""
    started = time.monotonic()
    _forget_the_caller()
    gc.disable()  # what is imported stays; a warm process enables it again
    import torch  # once, for this release and the others

    payload = request.payload
    if payload.get("task") == "warm":
        return warm.serve(request, emit)
    at_once = max(1, min(4, os.cpu_count() or 1))
    if payload.get("task") == "each":
        jobs = [(str(o["version"]), _whole_answer_of(request, o)) for o in payload["others"]]
        for version, said in side_by_side(jobs, SECONDS, at_once):
            emit(Event(event="value", text=version, data=said))
        return Result(outcome="returned", torch=torch.__version__)
    settle()
    main = fresh(lambda: _check_on(request), SECONDS)
    emit(Event(event="value", text=MAIN, data=main))
    wanted = main.get("findings") or (payload.get("passing") and "died" not in main)
    if payload.get("others") and wanted:
        until = started + float(payload.get("patience") or math.inf)
        findings = main["findings"] or [elsewhere.as_given(main)]
        for version, said in elsewhere.ask(request, findings, at_once, until):
            emit(Event(event="value", text=version, data=said))
    return Result(
        outcome="returned" if "died" not in main else "died",
        reason=main.get("died"),
        payload=main,
        torch=torch.__version__,
        python=platform.python_version(),
    )


def _forget_the_caller() -> None:
    """What the wall lets through of the caller's environment decides nothing here."""
    for name in _CALLERS:
        os.environ.pop(name, None)
    os.environ["LANG"] = "C.UTF-8"


def _whole_answer_of(request: Request, other: Mapping[str, Any]) -> Job:
    subject = replace(
        request.subject, root=str(other["root"]), version=str(other["version"]), sha256=None
    )
    return lambda: _check_on(replace(request, subject=subject))


def _check_on(request: Request) -> dict[str, Any]:
    release = load(request)
    return respond(release, request.payload)


def load(request: Request) -> Release:
    """The release of a request, loaded for its GPU and with its line's variables.

    Raises:
        ValueError: the GPU is not known.
    """
    release = Release(
        Path(str(request.subject.root)),
        request.subject.version or "0",
        Path(request.bytecode) if request.bytecode else None,
    )
    env = {str(k): str(v) for k, v in request.payload.get("env", {}).items()}
    release.load(str(request.payload.get("gpu", "h200")), env)
    return release


def respond(release: Release, payload: Payload) -> dict[str, Any]:
    """Do what the payload asks for, on a loaded release."""
    if payload.get("task") == "options":
        options = options_of(release, str(payload.get("program", "launch_server")))
        return {"options": [asdict(o) for o in options.options]}
    examiner = Examiner(release, payload.get("translations", {}))
    prepared = prepare(release, line_of(payload), payload.get("holes", ()))
    if payload.get("warm") and prepared.line.program != payload["program"]:
        # Another process is kept for that server: the modules of one are no place for the other.
        return {"program": prepared.line.program, "notes": prepared.notes, "elsewhere": True}
    examined = examiner.examine(prepared.line)
    unknown = [str(m) for m in payload.get("unknown", ())]
    over_panel: list[dict[str, Any]] = []
    if unknown and _stopped_at_config(examined.last, unknown):
        examined, over_panel = _over_panel(examiner, examined, unknown, payload["panel"])
    return {
        **_described(examined),
        "panel": over_panel,
        "later": [] if over_panel else _later(release, examined),
        "dropped": prepared.dropped,
        "holesMatter": _matter(examiner, examined, prepared),
        "notes": prepared.notes,
        "substitutes": [*release.substitutes, release.platform_substitute()],
        "standIns": sorted(release.upstream.ledger.handed_out),
    }


def _later(release: Release, examined: Examination) -> list[dict[str, Any]]:
    if examined.last.state != "pass" or examined.line is None:
        return []
    if examined.line.program == "diffusion":
        return []
    options = options_of(release, examined.line.program)
    return asserted_later(release.root, examined.line, options)


def _matter(examiner: Examiner, examined: Examination, prepared: Prepared) -> bool:
    """Whether a check refuses the line for some value of what is left open."""
    if examined.findings or not prepared.variants or examined.line is None:
        return False
    configs = examined.line.configs
    outcomes = examiner.each([replace(v, configs=configs) for v in prepared.variants])
    return any(o.state != examined.last.state for o in outcomes)


def line_of(payload: Payload) -> Line:
    """The line that a payload is about."""
    return Line(
        program=str(payload["program"]),
        argv=tuple(payload["argv"]),
        env=dict(payload.get("env", {})),
        gpu=str(payload.get("gpu", "h200")),
        configs=dict(payload.get("configs", {})),
        files=dict(payload.get("files", {})),
        whole=bool(payload.get("whole", True)),
    )


def _stopped_at_config(outcome: Outcome, unknown: list[str]) -> bool:
    return outcome.state == "unreachable" and any(m in unknown for m in outcome.asked)


def _over_panel(
    examiner: Examiner, before: Examination, unknown: list[str], panel: list[dict[str, Any]]
) -> tuple[Examination, list[dict[str, Any]]]:
    """The line with each configuration of the panel in turn.

    A finding that holds for all of them holds whatever the model is. If they disagree, the line is
    followed with one that passes, and what each said is told.
    """
    line = before.line
    assert line is not None
    lines = [
        replace(line, configs={**line.configs, **dict.fromkeys(unknown, str(m["text"]))})
        for m in panel
    ]
    outcomes = examiner.each(lines)
    seen = [
        {"name": m["name"], "about": m["about"], "state": o.state, "message": o.message}
        for m, o in zip(panel, outcomes, strict=True)
    ]
    passing = next((i for i, o in enumerate(outcomes) if o.state == "pass"), None)
    agreed = len({o.key for o in outcomes}) == 1
    if passing is not None:
        before.line, before.last = lines[passing], outcomes[passing]
        return before, seen
    if not agreed:
        return before, seen
    after = examiner.examine(lines[0])
    after.findings = before.findings + after.findings
    return after, seen


def _described(examined: Examination) -> dict[str, Any]:
    last = examined.last
    return {
        "findings": examined.findings,
        "state": last.state,
        "stage": last.stage,
        "missing": last.missing,
        "message": last.message,
        "site": last.site,
        "asked": last.asked,
        "warnings": last.warnings,
        "changed": last.changed,
        "calledStandIns": last.stand_ins,
        "program": examined.line.program if examined.line else "",
        "argv": list(examined.line.argv) if examined.line else [],
        "env": examined.line.env if examined.line else {},
        "configs": examined.line.configs if examined.line else {},
        "trials": examined.trials,
    }
