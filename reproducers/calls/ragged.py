"""Layouts of ragged verify: how many tokens each request verifies, and the tier that holds them."""

from collections.abc import Callable, Sequence
from typing import Any

from reproducers.upstream.subject import Subject

GRID = [4, 8, 16]
"""Token counts for which graphs were captured."""


def ragged_verify(subject: Subject) -> Any:
    """The module that holds the layouts."""
    if subject.version is None:
        from reproducers.reference import ragged

        return ragged
    return subject.load("sglang.srt.speculative.ragged_verify")


def planned(subject: Subject) -> Callable[..., Any]:
    """`plan(verify_lens, grid=GRID)`: the layout as the engine's planner makes it."""
    cls, torch = ragged_verify(subject).RaggedVerifyLayout, subject.torch

    def plan(verify_lens: Sequence[int], grid: Sequence[int] = GRID) -> Any:
        if subject.version is None:
            return cls.from_verify_lens(verify_lens, grid)
        device = torch.device("cpu")
        return cls.from_verify_lens(verify_lens_cpu=verify_lens, device=device, grid=grid)

    return plan


def assembled(subject: Subject) -> Callable[..., Any]:
    """`assemble(verify_lens, total, tier, cap=None)`: a layout put together by hand."""
    cls, torch = ragged_verify(subject).RaggedVerifyLayout, subject.torch

    def assemble(
        verify_lens: Sequence[int],
        total_verify_tokens: int,
        graph_num_tokens: int,
        cap: int | None = None,
    ) -> Any:
        fields = {
            "verify_lens_cpu": list(verify_lens),
            "total_verify_tokens": total_verify_tokens,
            "graph_num_tokens": graph_num_tokens,
        }
        if cap is not None:
            fields["cap"] = cap  # from 0.5.17 on
        if subject.version is not None:
            lens = torch.tensor(verify_lens, dtype=torch.int32)
            ends = torch.cat([torch.zeros(1, dtype=torch.int32), lens.cumsum(0).int()])
            fields |= {"verify_lens": lens, "extend_start_loc": ends[:-1], "qo_indptr_device": ends}
        return cls(**fields)

    return assemble


def starts(layout: Any) -> list[int]:
    """First token of each request."""
    found = layout.extend_start_loc
    return list((found() if callable(found) else found).tolist())
