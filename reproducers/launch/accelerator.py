"""What torch says about a GPU that is not there, for the whole life of a launch process.

`reproducers.upstream.platforms` answers for the engine's probes; releases also ask torch itself,
some of it while they are imported. Nothing can be computed on such a GPU: whoever tries is told so,
and the check counts as not reached.
"""

import os
from types import SimpleNamespace
from typing import Any, Final

from reproducers.protocol import Platform

CUDA_VERSION: Final = "13.0"
HIP_VERSION: Final = "7.0.51831"
_PROCESSORS: Final = {
    "sm80": 108,
    "sm89": 142,
    "sm90": 132,
    "sm100": 148,
    "sm103": 148,
    "sm120": 170,
}


def pretend(platform: Platform) -> None:
    """Let torch answer for this GPU; nothing is undone."""
    import torch

    if platform.vendor == "cpu":
        return
    count = platform.devices
    memory = (platform.memory_mib or 0) << 20
    major, minor = platform.capability or (0, 0)
    hip = platform.vendor == "hip"
    properties = SimpleNamespace(
        name=platform.name,
        major=major,
        minor=minor,
        total_memory=memory,
        multi_processor_count=304 if hip else _PROCESSORS.get(platform.kind, 132),
        gcnArchName=f"{platform.kind}:sramecc+:xnack-" if hip else "",
        warp_size=64 if hip else 32,
        shared_memory_per_block_optin=65536 if hip else 232448,
        L2_cache_size=50 << 20,
        is_integrated=0,
    )

    def get_device_properties(_device: Any = None) -> SimpleNamespace:
        return properties

    def answer(value: Any) -> Any:
        def ask(*_args: Any, **_kwargs: Any) -> Any:
            return value

        return ask

    cuda: Any = torch.cuda
    cuda.is_available = answer(True)  # the value that torch answers
    cuda.device_count = answer(count)
    cuda.current_device = answer(0)
    cuda.get_device_properties = get_device_properties
    cuda.get_device_capability = answer((major, minor))
    cuda.get_device_name = answer(platform.name)
    cuda.mem_get_info = answer((memory, memory))
    cuda.is_bf16_supported = answer(True)  # same
    version: Any = torch.version
    version.cuda = None if hip else CUDA_VERSION
    version.hip = HIP_VERSION if hip else None


INFINIBAND: Final = "/sys/class/infiniband"


def pretend_infiniband(devices: set[str]) -> None:
    """Let the InfiniBand devices that a line names be there; nothing is undone."""
    real_isdir, real_listdir = os.path.isdir, os.listdir

    def isdir(path: Any) -> bool:
        return bool(devices) if path == INFINIBAND else real_isdir(path)

    def listdir(path: Any = ".") -> list[str]:
        return sorted(devices) if path == INFINIBAND else list(real_listdir(path))

    os.path.isdir = isdir  # type: ignore[assignment]  # the same question, asked of the line
    os.listdir = listdir  # type: ignore[assignment]  # same
