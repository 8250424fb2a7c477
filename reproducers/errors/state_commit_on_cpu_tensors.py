"""The commit kernel of linear attention gets tensors that are not on a GPU.

Symptom
-------
`ValueError: fused_mamba_state_scatter_with_mask only supports CUDA/XPU tensors.` after the first
verify (`... only supports CUDA tensors.` up to 0.5.20).

Mechanism
---------
After a verify the accepted states are copied from the scratch into the pool by one Triton kernel
for all layers. Triton runs on GPUs; the wrapper looks at its tensors and refuses others. On a CPU
the same copy is two lines of indexing. Here tensors say that they are on a GPU, and the kernel's
launch is replaced by that indexing.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.state_scatter import committed, empty_pool
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
STATES = [[1, 1, 0], [3, 0, 2]]
"""Slot, row and step of the two states that are committed."""


def trigger(subject: Subject) -> None:
    """Tensors in main memory."""
    subject.value("is_cuda", False)
    committed(subject)(on_gpu=False)


def fix(subject: Subject) -> None:
    """The same tensors on a GPU."""
    same(subject, "committed", committed(subject)(on_gpu=True), STATES)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    run = committed(subject)

    def commit(on_gpu: bool) -> list[list[int]]:  # noqa: FBT001  # where the tensors are
        return run(on_gpu=on_gpu)

    hold_page(
        subject,
        snippets,
        commit,
        cases={"main memory": (False,), "GPU": (True,)},
        error=ValueError,
        text="fused_mamba_state_scatter_with_mask only supports CUDA",
        rescued=((False,), STATES),
        passed_on=lambda: int("no number"),
        names={"commit": commit},
    )
    module = subject.load(
        "sglang.kernels.ops.mamba.mamba_state_scatter_triton",
        "sglang.srt.layers.attention.mamba.mamba_state_scatter_triton",
    )
    none = subject.torch.zeros(0, dtype=subject.torch.int64)
    nothing = module.fused_mamba_state_scatter_with_mask(empty_pool(), empty_pool(), none, none)
    same(subject, "empty-batch-is-not-looked-at", nothing, None)
