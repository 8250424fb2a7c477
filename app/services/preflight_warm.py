"""Releases kept loaded behind the wall, so that a line on the site is answered at once.

One process a (release, GPU, server), started when first asked for, ended after a while without
questions or when others are wanted. A check whose variables a release reads while it is imported
cannot be answered by a process that has imported it: such a check gets a process of its own.
"""

import contextlib
import itertools
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from app.preflight.configs import preset_for
from app.runs import stream
from app.services.preflight_running import ISOLATION, Answer, request_for
from app.settings import Settings
from app.wheels import Wheel
from reproducers.protocol import Limits, Result

MOST: Final = 3
"""Releases kept loaded at once; each takes about 350 MB."""
IDLE_SECONDS: Final = 600.0
_LIMITS: Final = Limits(seconds=6 * 3600, memory_bytes=4 << 30, processes=64)
_SWEEP_SECONDS: Final = 30.0
_START_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 60.0
_WARM_UP: Final = ("--model-path", "meta-llama/Llama-3.1-8B-Instruct")


class WarmProcess:
    """One loaded release."""

    def __init__(self, wheel: Wheel, settings: Settings, payload: Mapping[str, Any]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="reprobase-warm-"))
        self.folder.chmod(0o755)
        pipe = self.folder / "questions"
        os.mkfifo(pipe, 0o644)
        pipe.chmod(0o644)
        # Held open for reading too, so that writing never waits and never meets a closed pipe.
        self._pipe = os.open(pipe, os.O_RDWR)
        request = request_for(wheel, settings, {**payload, "task": "warm", "pipe": str(pipe)})
        request = replace(request, readable=(str(self.folder),), limits=_LIMITS)
        self._cancel = threading.Event()
        self._answers: dict[str, dict[str, Any]] = {}
        self._came = threading.Condition()
        self._dead: str | None = None
        self._numbers = itertools.count()
        self.isolation: list[str] = []
        self.used = time.monotonic()
        self._thread = threading.Thread(target=self._listen, args=(request,), daemon=True)
        self._thread.start()

    def _listen(self, request: Any) -> None:
        reason = "it ended"
        try:
            for message in stream(request, cancel=self._cancel):
                if isinstance(message, Result):
                    reason = message.reason or reason
                elif message.event == "value" and message.text == ISOLATION:
                    self.isolation = list(message.data[ISOLATION])
                elif message.event == "value":
                    with self._came:
                        self._answers[message.text] = message.data
                        self._came.notify_all()
        except Exception as e:  # noqa: BLE001  # whoever waits has to be told
            reason = str(e)
        with self._came:
            self._dead = reason
            self._came.notify_all()

    def wait_for(self, name: str, seconds: float) -> dict[str, Any] | None:
        """An answer by its name; None if the process died or took too long."""
        with self._came:
            self._came.wait_for(lambda: name in self._answers or self._dead is not None, seconds)
            return self._answers.pop(name, None)

    @property
    def alive(self) -> bool:
        """Whether it can still answer."""
        return self._dead is None

    def ask(self, payload: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the checks say; None if the process cannot answer."""
        self.used = time.monotonic()
        number = str(next(self._numbers))
        data = json.dumps({**payload, "id": number}).encode() + b"\n"
        while data:
            data = data[os.write(self._pipe, data) :]
        return self.wait_for(number, _ANSWER_SECONDS)

    def end(self) -> None:
        """End it and remove what it left."""
        self._cancel.set()
        self._thread.join(10.0)
        with contextlib.suppress(OSError):
            os.close(self._pipe)
        shutil.rmtree(self.folder, ignore_errors=True)


_Key = tuple[str, str, bool]
"""A wheel's sha256, a GPU, and whether it is the diffusion server."""


class WarmPool:
    """The loaded releases of this process; safe to use from several threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._sweeper: threading.Thread | None = None
        self._processes: dict[_Key, tuple[WarmProcess, threading.Lock]] = {}

    def check(self, wheel: Wheel, settings: Settings, payload: Mapping[str, Any]) -> Answer | None:
        """The answer of a loaded release, loading it if it is not; None if it cannot answer."""
        gpu, is_diffusion = str(payload["gpu"]), payload["program"] == "diffusion"
        key = wheel.sha256, gpu, is_diffusion
        process, lock = self._of(key, wheel, settings)
        with lock:
            said = process.ask({**payload, "warm": True}) if process.alive else None
        if said is None or "cold" in said or "died" in said:
            if said is None:
                self._drop(key)
            return None
        if "elsewhere" in said and not is_diffusion:
            answer = self.check(wheel, settings, {**payload, "program": "diffusion"})
            if answer is not None:
                answer.main["notes"] = [*said["notes"], *answer.main.get("notes", ())]
            return answer
        return Answer(main=said, isolation=process.isolation)

    def _of(
        self, key: _Key, wheel: Wheel, settings: Settings
    ) -> tuple[WarmProcess, threading.Lock]:
        with self._lock:
            found = self._processes.get(key)
            if found is not None and found[0].alive:
                return found
            self._make_room()
            if self._sweeper is None:
                self._sweeper = threading.Thread(target=self._sweep, daemon=True)
                self._sweeper.start()
            process = WarmProcess(wheel, settings, _warm_up(key[1], is_diffusion=key[2]))
            found = self._processes[key] = process, threading.Lock()
        process.wait_for("ready", _START_SECONDS)
        return found

    def _make_room(self) -> None:
        """End what has died, and the longest unused if there are too many; the lock is held."""
        self._end_some(lambda p: not p.alive)
        by_use = sorted((p.used for p, _ in self._processes.values()), reverse=True)
        if len(by_use) >= self._most:
            self._end_some(lambda p: p.used <= by_use[self._most - 1])

    def _end_some(self, which: Callable[[WarmProcess], bool]) -> None:
        """End the processes that are meant and that nobody is asking right now."""
        for key, (process, lock) in list(self._processes.items()):
            if which(process) and lock.acquire(blocking=False):
                self._processes.pop(key)
                threading.Thread(target=process.end, daemon=True).start()

    def _sweep(self) -> None:
        """End what nobody has asked for a while, now and then."""
        while not self._closed.wait(_SWEEP_SECONDS):
            with self._lock:
                self._end_some(lambda p: time.monotonic() - p.used > IDLE_SECONDS)

    def _drop(self, key: _Key) -> None:
        with self._lock:
            found = self._processes.pop(key, None)
        if found is not None:
            found[0].end()

    def close(self) -> None:
        """End everything."""
        self._closed.set()
        with self._lock:
            processes = [p for p, _ in self._processes.values()]
            self._processes.clear()
        for process in processes:
            process.end()


def _warm_up(gpu: str, *, is_diffusion: bool) -> dict[str, Any]:
    """A plain line: its check imports what every check imports."""
    if is_diffusion:
        return {
            "program": "diffusion",
            "argv": ["--model-path", "Qwen/Qwen-Image"],
            "env": {},
            "gpu": gpu,
        }
    config = preset_for(_WARM_UP[1])
    return {
        "program": "launch_server",
        "argv": list(_WARM_UP),
        "env": {},
        "gpu": gpu,
        "configs": {_WARM_UP[1]: config.text} if config else {},
        "translations": {},
    }
