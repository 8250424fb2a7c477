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
from functools import partial
from typing import Any

from reproducers.calls.kda import state_pool
from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.calls.state_scatter import (
    InMainMemory,
    committed,
    empty_pool,
    numbered_scratch,
    seen_in,
    wrapper,
)
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
INDEXING = "Copy by indexing on a CPU"
NO_SPECULATION = "Run without speculation"
MOVE = "Move pool and scratch to the GPU"
REFUSED = "ValueError: fused_mamba_state_scatter_with_mask only supports CUDA..."
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
    none = subject.torch.zeros(0, dtype=subject.torch.int64)
    nothing = wrapper(subject)(empty_pool(), empty_pool(), none, none)
    same(subject, "empty-batch-is-not-looked-at", nothing, None)
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: by torch alone, by a launch line, and by the wrapper."""
    torch = subject.torch
    slots, steps = torch.tensor([3, 1, 2]), torch.tensor([2, 0, -1])  # the last is not accepted

    def by_indexing(given: Any) -> list[list[int]]:
        pool = empty_pool()
        names = {"dst": pool, "src": numbered_scratch(), "dst_indices": slots}
        carried_out(snippets, INDEXING, step_indices=given, **names)
        return seen_in(pool)

    tried(
        subject, INDEXING, "the states that the kernel commits", partial(by_indexing, steps), STATES
    )
    none = partial(by_indexing, torch.full((3,), -1))
    tried(subject, INDEXING, "no step accepted", none, [])

    before, after = lines_of(code_of(snippets, NO_SPECULATION))

    def scratch_steps(line: str) -> int | None:
        """Steps of the scratch from which a verify is committed; None if there is none."""
        settings = resolved(subject, line, platform="cpu-amx")
        pool = state_pool(subject, settings["speculative_num_draft_tokens"])
        scratch = getattr(pool, "intermediate_ssm", None)
        return None if scratch is None else int(scratch.shape[1])

    drafted = partial(scratch_steps, before)
    tried(subject, NO_SPECULATION, "scratch of the - line", lambda: drafted() is not None, True)
    tried(subject, NO_SPECULATION, "scratch of the + line", partial(scratch_steps, after), None)

    commit = wrapper(subject)

    def moved(code: Mapping[str, str]) -> list[list[int]]:
        tensors = {"pool": empty_pool(), "scratch": numbered_scratch()}
        names = {name: x.as_subclass(InMainMemory) for name, x in tensors.items()}
        where = {"slots": slots[:2], "steps": steps[:2]}
        left = carried_out(code, MOVE, fused_mamba_state_scatter_with_mask=commit, **names, **where)
        return seen_in(left["pool"])

    code = 'pool, scratch = pool.to("cuda"), scratch.to("cuda")'
    stayed, alone = (altered(snippets, MOVE, code, new) for new in ("", 'pool = pool.to("cuda")'))
    apart = "ValueError: dst and src must be on the same device..."
    tried(subject, MOVE, "both", partial(moved, snippets), STATES)
    tried(subject, MOVE, "neither", partial(moved, stayed), REFUSED)
    tried(subject, MOVE, "the pool alone", partial(moved, alone), apart)
