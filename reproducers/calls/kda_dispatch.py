"""Which kernels of a KDA layer a launch line leads to, by the release's own dispatcher."""

from types import SimpleNamespace
from typing import Any

from reproducers.calls.kda import recurrent_kda
from reproducers.calls.launch import QWEN3_NEXT, resolved
from reproducers.upstream.subject import Subject

ON_B200 = "--device cuda --mamba-ssm-dtype bfloat16 --linear-attn-decode-backend triton"
"""What a Blackwell GPU asks for before flashinfer's kernels are taken."""
EXECUTION = SimpleNamespace(mamba=None)
"""In place of what a running server would be asked: the settings of the line."""


def dispatched(subject: Subject, line: str, platform: str) -> Any:
    """The release's KDAKernelDispatcher, built on a simulated GPU as this line asks for.

    It has a `decode_kernel` and a `verify_kernel`. Flashinfer is one that has the kernel.

    Raises:
        Exception: whatever the release refuses the line or the kernel with.
    """
    names = ("linear_attn_backend", "linear_attn_decode_backend", "linear_attn_prefill_backend",
             "linear_attn_verify_backend")  # fmt: skip
    settings = resolved(subject, line, model=QWEN3_NEXT, platform=platform)
    asked = SimpleNamespace(**{name: settings.get(name) for name in names})
    why = "it is never called here, or in plain torch"
    subject.substitute("flashinfer.kda_decode", "recurrent_kda", recurrent_kda, why=why)
    module = subject.load("sglang.srt.layers.attention.linear.kda_backend")
    wrapper: Any = subject.load("sglang.srt.layers.attention.linear.kernels.kda_flashinfer")
    wrapper._flashinfer_kda_available = None  # noqa: SLF001  # asked once a process
    with subject.platform(platform):
        return module.KDAKernelDispatcher(*_backends(subject, asked))


def in_words_of(subject: Subject, line: str) -> str:
    """The line for this release: 0.5.16 has one flag for decode and verify, that of decode."""
    verify = "--linear-attn-verify-backend"
    if subject.version is None or subject.version.release != (0, 5, 16) or verify not in line:
        return line
    words = line.replace("--linear-attn-decode-backend triton", "")
    return words.replace(verify, "--linear-attn-decode-backend")


def get_exec() -> Any:
    """The settings of the line that is tried."""
    return EXECUTION


def _backends(subject: Subject, asked: Any) -> list[Any]:
    """Backends of decode, prefill and, where the release tells it apart, verify."""
    utils = subject.load("sglang.srt.layers.attention.linear.utils")
    if hasattr(utils, "initialize_linear_attn_config"):
        utils.initialize_linear_attn_config(asked)
        phases = ("decode", "prefill", "verify")
        getters = (getattr(utils, f"get_linear_attn_{phase}_backend", None) for phase in phases)
        return [getter() for getter in getters if getter is not None]
    EXECUTION.mamba = asked
    if getattr(utils.get_exec, "__wrapped__", None) is not get_exec:
        why = "gives the settings of the line without a server"
        subject.substitute(utils, "get_exec", get_exec, why=why)
    found = utils.resolve_linear_attn_backends()
    return [found.decode, found.prefill, found.verify]
