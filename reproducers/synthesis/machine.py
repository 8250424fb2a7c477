"""What a release asks of the machine: its accelerator and its environment, as inputs of a world."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from reproducers.synthesis.kinds import Kind
from reproducers.synthesis.worlds import World
from reproducers.upstream.platforms import answers, platform_named

PLATFORM: Final = "platform"
PLATFORMS: Final = (
    "h100", "b200", "mi300x", "cpu", "a100", "rtx5090", "l40s", "b300", "npu", "xpu", "musa",
    "mps", "hpu",
)  # fmt: skip
KIND: Final = Kind("str", choices=PLATFORMS, default=PLATFORMS[0])
_VENDORS: Final = ("npu", "xpu", "musa", "mps", "hpu")


def facts_of(name: str) -> dict[str, Any]:
    """What each probe function answers on this accelerator."""
    if name in _VENDORS:
        return answers(platform_named("cpu")) | {f"is_{name}": True}
    return answers(platform_named(name))


class Machine:
    """Stands between the engine and the machine for the rest of the process's life.

    Attributes:
        world: the world that answers; None: the real machine does.
    """

    def __init__(self, packages: frozenset[str], lend: Callable[[str], bool] | None = None) -> None:
        self.world: World | None = None
        self.lend = lend
        """Makes a package that is not here a stand-in."""
        self._packages = packages
        self._bound: set[str] = set()
        self._facts = {name: facts_of(name) for name in PLATFORMS}
        self._probes: dict[int, Any] = {}
        self._watch_environment()
        self._take_torch()

    def bind(self) -> None:
        """Take over the probe functions of modules that were loaded since."""
        common = sys.modules.get("sglang.srt.utils.common") or sys.modules.get("sglang.srt.utils")
        if common is None:
            return
        if not self._probes:
            for name in self._facts["h100"]:
                real = vars(common).get(name)
                if callable(real):
                    self._probes[id(real)] = self._probe(name, real)
        for name, module in list(sys.modules.items()):
            if module is None or name in self._bound:
                continue
            if name.partition(".")[0] not in self._packages:
                continue
            self._bound.add(name)
            for key, value in list(vars(module).items()):
                if id(value) in self._probes and callable(value):
                    setattr(module, key, self._probes[id(value)])

    def _probe(self, name: str, real: Any) -> Any:
        def probe(*args: Any, **kwargs: Any) -> Any:
            if self.world is None:
                return real(*args, **kwargs)
            return self._facts[self.world.get(PLATFORM, KIND)][name]

        probe.__name__ = name
        probe.cache_clear = lambda: None  # type: ignore[attr-defined]  # some probes are cached
        return probe

    def _take_torch(self) -> None:
        """What torch says of the accelerator comes from the world, too."""
        import torch

        for name, fact in (
            ("get_device_capability", "get_device_capability"),
            ("get_device_name", "get_device_name"),
            ("device_count", "get_device_count"),
        ):
            setattr(torch.cuda, name, self._probe(fact, getattr(torch.cuda, name)))

    def _watch_environment(self) -> None:
        kind: Any = type(os.environ)
        real = kind.__getitem__
        machine = self

        def noting(environ: Any, key: str) -> str:
            world = machine.world
            if world is not None and isinstance(key, str):
                world.reads[f"env:{key}"] = None
            return str(real(environ, key))

        kind.__getitem__ = noting

    @contextlib.contextmanager
    def running(self, world: World) -> Iterator[None]:
        """Within the block this world answers, with its environment variables set."""
        kept = dict(os.environ)
        for path, value in world.values.items():
            if path.startswith("env:"):
                if value is None:
                    os.environ.pop(path[4:], None)
                else:
                    os.environ[path[4:]] = str(value)
        self.world = world
        try:
            yield
        finally:
            self.world = None
            if kept != dict(os.environ):
                for key in set(os.environ) - set(kept):
                    del os.environ[key]
                os.environ.update(kept)
