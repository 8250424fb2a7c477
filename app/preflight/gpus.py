"""Which GPU is a line meant for? The one that is asked for, or what the line itself says."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from app.exceptions import BadInputError
from reproducers.protocol import ARCHITECTURES
from reproducers.protocol import GPUS as PLATFORMS

GPUS: Final = {
    key: platform.name or ("no GPU, a CPU with AMX" if platform.amx else "no GPU")
    for key, platform in PLATFORMS.items()
}
"""What can be simulated, with a name for a reader; the simulation itself is behind the wall."""
ALIASES: Final = {
    **ARCHITECTURES,
    "rocm": "mi300x",
    "gb200": "b200",
    "gb300": "b300",
    "h20": "h200",
    "h800": "h100",
    "a800": "a100",
    "l40": "l40s",
    "5090": "rtx5090",
    "mi300": "mi300x",
    "hopper": "h100",
    "blackwell": "b200",
    "ampere": "a100",
    "ada": "l40s",
    "none": "cpu",
}
DEFAULT: Final = "h200"
DEFAULT_AMD: Final = "mi300x"
_BLACKWELL: Final = (
    "trtllm_mha",
    "trtllm_mla",
    "cutlass_mla",
    "flashinfer_trtllm",
    "nvfp4",
    "modelopt_fp4",
    "fp4_e2m1",
    "tokenspeed_mla",
)
_AMD: Final = ("aiter", "wave")
_CPU: Final = ("intel_amx",)


def named_gpu(name: str) -> str:
    """The GPU of a name or an architecture.

    Raises:
        BadInputError: it is not known; the message lists what is.
    """
    plain = name.strip().lower().replace("_", "").replace(" ", "").removeprefix("nvidia")
    found = plain if plain in GPUS else ALIASES.get(plain) or ALIASES.get(plain.replace("-", ""))
    if found is None and plain == "cpuamx":
        found = "cpu-amx"
    if found is None:
        raise BadInputError(
            f"The GPU {name!r} cannot be simulated. Known are {', '.join(GPUS)}, and architectures "
            "such as sm90, sm100, sm120, gfx942."
        )
    return found


def assumed_gpu(argv: Sequence[str]) -> tuple[str, str]:
    """The GPU that a line without `--gpu` is checked for, and a note that says so."""
    words = {w.lower() for word in argv for w in word.split("=")}
    device = next((b for a, b in pairwise(argv) if a == "--device"), "")
    if device == "cpu" or words & set(_CPU):
        gpu, why = "cpu-amx", "the line asks for the CPU"
    elif words & set(_AMD):
        gpu, why = DEFAULT_AMD, "the line asks for what only AMD GPUs have"
    elif any(w in word for word in words for w in _BLACKWELL):
        gpu, why = "b200", "the line asks for what only Blackwell GPUs have"
    else:
        gpu, why = DEFAULT, "no GPU was named"
    return gpu, f"Checked for {GPUS[gpu]}: {why}. Name yours with --gpu."
