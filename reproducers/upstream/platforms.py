"""Simulated accelerators: make a release believe in a GPU that is not there.

From 0.5.19 on sglang has `override_platform(...)`; what it does not cover, and releases before it,
are reached by replacing the probe functions (`is_cuda`, `get_device_sm`, ...) under every name that
a loaded module of the engine holds them by. Constants that a module computed while it was imported
(`_is_cuda = is_cuda()`) keep the real machine's answer: load the modules first, then simulate.
Nothing of torch is told that a GPU exists except its capability and name.
"""

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from reproducers.protocol import ARCHITECTURES, GPUS, Platform

KINDS: Final = tuple(sorted({*GPUS, *ARCHITECTURES}))


def platform_named(kind: str) -> Platform:
    """The platform of a GPU's name (`h200`) or of an architecture (`sm100`).

    Raises:
        ValueError: it is not known; the message lists what is.
    """
    try:
        return GPUS[ARCHITECTURES.get(kind, kind)]
    except KeyError:
        raise ValueError(f"no platform {kind!r}; known: {', '.join(KINDS)}") from None


def answers(platform: Platform) -> dict[str, Any]:
    """What each probe function of the engine answers on this platform."""
    cuda = platform.vendor == "cuda"
    hip = platform.vendor == "hip"
    major, minor = platform.capability or (0, 0)

    def generation(*majors: int) -> bool:
        return cuda and major in majors

    return {
        "is_cuda": cuda,
        "is_hip": hip,
        "is_cuda_alike": cuda or hip,
        "is_npu": False,
        "is_xpu": False,
        "is_hpu": False,
        "is_musa": False,
        "is_mps": False,
        "is_sail": False,
        "is_sm80_supported": generation(8),
        "is_sm90_supported": generation(9),
        "is_sm100_supported": generation(10),
        "is_sm100_or_sm110_supported": generation(10, 11),
        "is_sm110_supported": generation(11),
        "is_sm120_supported": generation(12),
        "is_sm120": cuda and (major, minor) == (12, 0),
        "is_sm121": cuda and (major, minor) == (12, 1),
        "is_blackwell": generation(10, 11, 12),
        "is_blackwell_supported": generation(10, 11, 12),
        "is_hopper_with_cuda_12_3": generation(9),
        "is_ampere_with_cuda_12_3": generation(8),
        "is_gfx942_supported": hip and platform.kind == "gfx942",
        "is_gfx95_supported": hip and platform.kind == "gfx950",
        "is_gfx1250_supported": hip and platform.kind == "gfx1250",
        "is_mnnvl_fabric_device": False,
        "is_flashinfer_available": cuda,
        "cpu_has_amx_support": platform.amx,
        "get_cuda_version": (13, 0) if cuda else (0, 0),
        "get_device_sm": major * 10 + minor,
        "get_device_capability": platform.capability or (None, None),
        "get_device_name": platform.name or None,
        "get_device_count": platform.devices if cuda or hip else 0,
        "get_nvgpu_memory_capacity": platform.memory_mib if cuda else None,
        "get_amdgpu_memory_capacity": platform.memory_mib if hip else None,
    }


def _constant(value: Any) -> Callable[..., Any]:
    def probe(*_args: Any, **_kwargs: Any) -> Any:
        return value

    return probe


def _probes(platform: Platform, real: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Probe functions of this platform; two of them look at their argument."""
    probes = {name: _constant(value) for name, value in answers(platform).items()}

    def get_device_memory_capacity(device: str | None = None) -> Any:
        if device == "cpu" or platform.memory_mib is None:
            return real["get_device_memory_capacity"](device)
        return platform.memory_mib

    def get_device(device_id: int | None = None) -> str:
        if platform.vendor == "cpu":
            return "cpu"
        return "cuda" if device_id is None else f"cuda:{device_id}"

    return probes | {
        "get_device_memory_capacity": get_device_memory_capacity,
        "get_device": get_device,
    }


def _engine_modules(packages: frozenset[str]) -> list[types.ModuleType]:
    return [m for n, m in list(sys.modules.items()) if m and n.partition(".")[0] in packages]


@contextlib.contextmanager
def simulated(kind: str, packages: frozenset[str]) -> Iterator[Platform]:
    """Within the block, the engine's loaded modules see this platform.

    Args:
        kind: a GPU's name or an architecture, see `KINDS`.
        packages: top-level packages of the wheel.

    Raises:
        ValueError: no such platform.
    """
    platform = platform_named(kind)
    with contextlib.ExitStack() as stack:
        _override(platform, stack)
        _replace_probes(platform, packages, stack)
        if platform.vendor != "cpu":
            import torch

            for name in ("get_device_capability", "get_device_name"):
                stack.callback(setattr, torch.cuda, name, getattr(torch.cuda, name))
                setattr(torch.cuda, name, _constant(answers(platform)[name]))
        yield platform


def _override(platform: Platform, stack: contextlib.ExitStack) -> None:
    """The release's own `override_platform`, for every fact that it knows."""
    context = sys.modules.get("sglang.srt.runtime_context")
    if context is None or not hasattr(context, "override_platform"):
        return
    facts = {**context._PLATFORM_PROBES, **context._PLATFORM_VALUES}  # noqa: SLF001  # its list of facts
    known = answers(platform)
    stack.enter_context(
        context.override_platform(**{f: known[p] for f, p in facts.items() if p in known})
    )


def _replace_probes(
    platform: Platform, packages: frozenset[str], stack: contextlib.ExitStack
) -> None:
    common = sys.modules.get("sglang.srt.utils.common") or sys.modules.get("sglang.srt.utils")
    real = dict(vars(common)) if common else {}
    probes = {n: f for n, f in _probes(platform, real).items() if n in real}
    replaced = {id(real[name]): name for name in probes}
    put_back = {id(probe): real[name] for name, probe in probes.items()}

    def restore() -> None:
        # Modules imported meanwhile took the simulated probes over: they get the real ones too.
        for module in _engine_modules(packages):
            for name, value in list(vars(module).items()):
                if id(value) in put_back:
                    setattr(module, name, put_back[id(value)])

    stack.callback(restore)
    for module in _engine_modules(packages):
        for name, value in list(vars(module).items()):
            if id(value) in replaced:
                setattr(module, name, probes[replaced[id(value)]])
