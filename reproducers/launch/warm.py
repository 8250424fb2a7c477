"""A release kept loaded: one check after another, each in a process forked from this one.

The requests come through a named pipe that the caller made and that is readable behind the wall;
the answers go back as events. Nothing of one check stays for the next: only modules of the release.
"""

import gc
import json
import platform
import select
from collections.abc import Callable
from typing import Any, Final

from reproducers.launch import diffusion
from reproducers.launch.fresh import settle
from reproducers.launch.options import diffusion_options
from reproducers.launch.release import Release
from reproducers.protocol import Event, Request, Result

READY: Final = "ready"
_IDLE: Final = 2.0
SECONDS: Final = 50.0
_MOST: Final = 4000
"""Answers before the process is renewed; the keeper counts events too."""


def serve(request: Request, emit: Callable[[Event], None]) -> Result:
    """Load the release, then answer what comes through the pipe until it is closed."""
    from reproducers.launch import answer  # which imports this module

    release = answer.load(request)
    first = {**request.payload, "task": "check"}
    if first.get("argv"):
        answer.respond(release, first)  # imports what checks import, once and for all
    settle()
    gc.enable()
    emit(Event(event="value", text=READY, data={"readAtImport": sorted(release.read_at_import)}))
    count = 0
    with open(str(request.payload["pipe"]), encoding="utf-8") as pipe:  # noqa: PTH123  # a pipe, not a path
        if not select.select([pipe], [], [], _IDLE)[0] and diffusion.has(release):
            diffusion_options(release)  # some line will have flags that only this server knows
        for text in pipe:
            question: dict[str, Any] = json.loads(text)
            said = _respond(answer.respond, release, question)
            emit(Event(event="value", text=str(question["id"]), data=said))
            count += 1
            if count >= _MOST:
                break
    return Result(outcome="returned", payload={"answers": count}, python=platform.python_version())


def _respond(
    respond: Callable[..., dict[str, Any]], release: Release, question: dict[str, Any]
) -> dict[str, Any]:
    gone = sorted(set(question.get("env", {})) & release.read_at_import)
    if gone:
        return {"cold": gone}
    try:
        return respond(release, question)
    except Exception as e:  # noqa: BLE001  # a fault of ours must not take the process down
        return {"died": f"{type(e).__name__}: {e}"}
