"""Flashinfer's KDA kernel is asked for on a GPU that cannot run it.

Symptom
-------
`RuntimeError: FlashInfer KDA kernel (recurrent_kda) is not available. Requires SM100+ and a
FlashInfer build with KDA support.` while the attention backend is built.

Mechanism
---------
The kernel runs from compute capability 10 on (B200, B300, RTX 50). The wrapper imports it when it
is first built and asks for the device's capability; on anything less, or if flashinfer lacks the
kernel, it refuses. The GPUs here are simulated: the release's own probes are made to answer as on
an H100 and on a B200.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.kda import recurrent_kda
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"


def built(subject: Subject) -> Any:
    """`build(gpu)`: name of the kernel's wrapper, built on a simulated GPU."""
    subject.substitute(
        "flashinfer.kda_decode", "recurrent_kda", recurrent_kda, why="it is never called here"
    )
    module: Any = subject.load("sglang.srt.layers.attention.linear.kernels.kda_flashinfer")

    def build(gpu: str) -> str:
        module._flashinfer_kda_available = None  # noqa: SLF001  # asked once a process
        with subject.platform(gpu):
            return type(module.FlashInferKDAKernel()).__name__

    return build


def trigger(subject: Subject) -> None:
    """On an H100."""
    subject.value("gpu", "h100")
    built(subject)("h100")


def fix(subject: Subject) -> None:
    """The same on a B200."""
    same(subject, "built", built(subject)("b200"), "FlashInferKDAKernel")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper's constructor."""
    build = built(subject)
    hold_page(
        subject,
        snippets,
        build,
        cases={
            "h100": ("h100",),
            "h200": ("h200",),
            "a100": ("a100",),
            "b200": ("b200",),
            "b300": ("b300",),
        },
        error=RuntimeError,
        text="FlashInfer KDA kernel (recurrent_kda) is not available.",
        rescued=(("h100",), "triton"),
        passed_on=("no such gpu",),
        names={"build": build},
    )
    module = subject.load("sglang.srt.layers.attention.linear.kernels.kda_flashinfer")
    build("b200")
    with subject.platform("h100"):
        kept = type(module.FlashInferKDAKernel()).__name__
    same(subject, "asked-once-a-process", kept, "FlashInferKDAKernel")
