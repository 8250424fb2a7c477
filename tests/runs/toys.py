"""Toy releases with one check, and reproducers for them: real subprocesses, but no torch."""

import textwrap
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.runs.requests import release_request
from app.settings import Settings, load_settings
from app.wheels import open_wheel
from reproducers.protocol import Limits, Request, Step
from tests.wheels.making import make_wheel

ENGINE = """
    def check(n):
        if n > 4:
            raise ValueError(f"too many: {n}")
        return n


    class Server:
        def start(self, n):
            return check(n)
"""
REPRODUCER = """
    def trigger(subject):
        subject.load("toy.engine").check(5)

    def fix(subject):
        got = subject.load("toy.engine").check(4)
        subject.check("n", got == 4, got=got, expected=4)
"""
SITE = {"file": "toy/engine.py", "function": "check", "line": 3, "guardLines": [2]}


@dataclass(frozen=True)
class Toys:
    """Makes requests in a cache of its own."""

    folder: Path
    settings: Settings

    def request(
        self,
        step: Step = "trigger",
        *,
        engine: str = ENGINE,
        reproducer: str = REPRODUCER,
        files: Mapping[str, str] | None = None,
        sites: tuple[dict[str, Any], ...] = (SITE,),
        limits: Limits | None = None,
        **more: Any,
    ) -> Request:
        """A step on a release `toy==1.0` that holds `toy/engine.py`."""
        place = self.folder / uuid.uuid4().hex[:8]
        place.mkdir()
        content = {"toy/__init__.py": "", "toy/engine.py": _code(engine)}
        content |= {name: _code(text) for name, text in (files or {}).items()}
        wheel = open_wheel(make_wheel(place, content, package="toy"))
        file = place / "reproducer.py"
        file.write_text(_code(reproducer))
        for readable in (place, file):
            readable.chmod(0o755)
        request = release_request(
            wheel,
            self.settings,
            slug="toy-error",
            step=step,
            template="too many: {n}",
            pattern=r"too\s+many:\s+([\s\S]*?)",
            error_class="ValueError",
            sites=sites,
            limits=limits or Limits(seconds=20, memory_bytes=1 << 30, processes=32),
        )
        payload = {"file": str(file)} | more.pop("payload", {})
        return replace(request, payload=payload, readable=(str(file),), **more)


def toys_in(folder: Path) -> Toys:
    """Toys in a folder that an unprivileged user may pass through."""
    settings = load_settings({"HOME": str(folder), "REPROBASE_CACHE_DIR": str(folder / "cache")})
    return Toys(folder, settings)


def _code(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def processes_named(name: str) -> list[int]:
    """Processes of the whole machine that call themselves so (see `NAME_ONESELF`)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == name[:15]:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def gone(name: str, seconds: float = 3.0) -> bool:
    """Whether no process of that name is left, soon."""
    deadline = time.monotonic() + seconds
    while processes_named(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


NAME_ONESELF = "import ctypes; ctypes.CDLL(None).prctl(15, {name!r}.encode())"
"""Code by which a process, and what it forks, can be found by `processes_named`."""


def token() -> str:
    """A name that no other process has."""
    return f"t{uuid.uuid4().hex[:12]}"
