"""Writes `data/launch/flags.json`: which release's parser takes which flag.

Run by a person when a release is added (`reprobase preflight --collect-flags`); each release's own
parser is asked, behind the wall.
"""

import json
from collections.abc import Callable
from typing import Any

from packaging.version import Version

from app.exceptions import ReprobaseError
from app.preflight.flags import FILE
from app.services.preflight_running import request_for, run
from app.settings import Settings
from app.wheels import cached_versions, cached_wheel

_PROGRAMS = ("launch_server", "diffusion")


def collect(settings: Settings, on_progress: Callable[[str], None]) -> int:
    """Ask every cached release; returns an exit code."""
    having: dict[str, dict[str, set[str]]] = {p: {} for p in _PROGRAMS}
    releases: dict[str, list[str]] = {p: [] for p in _PROGRAMS}
    for version in cached_versions("sglang", settings):
        wheel = cached_wheel("sglang", version, settings)
        if wheel is None:
            continue
        for program in _PROGRAMS:
            payload = {"task": "options", "program": program, "gpu": "h200", "env": {}, "argv": []}
            try:
                answer = run(request_for(wheel, settings, payload))
            except ReprobaseError as e:
                on_progress(f"{version} {program}: {e}")
                continue
            releases[program].append(version)
            for option in answer.main["options"]:
                for name in option["names"]:
                    having[program].setdefault(name, set()).add(version)
            on_progress(f"{version} {program}: {len(answer.main['options'])} flags")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(_document(releases, having))
    return 0


def _document(releases: dict[str, list[str]], having: dict[str, dict[str, set[str]]]) -> str:
    flags: dict[str, dict[str, Any]] = {
        program: {name: _spans(versions, releases[program]) for name, versions in names.items()}
        for program, names in having.items()
    }
    lines = ["{", f'"releases": {json.dumps(releases)},', '"flags": {']
    for i, program in enumerate(_PROGRAMS):
        lines.append(f"{json.dumps(program)}: {{")
        names = sorted(flags[program])
        lines += [
            f"{json.dumps(n)}: {json.dumps(flags[program][n])}{',' if n != names[-1] else ''}"
            for n in names
        ]
        lines.append("}," if i + 1 < len(_PROGRAMS) else "}")
    return "\n".join([*lines, "}", "}"]) + "\n"


def _spans(versions: set[str], every: list[str]) -> list[list[str]]:
    """Runs of releases as [first, last]."""
    spans: list[list[str]] = []
    open_run = False
    for version in sorted(every, key=Version):
        if version not in versions:
            open_run = False
        elif open_run:
            spans[-1][1] = version
        else:
            spans.append([version, version])
            open_run = True
    return spans
