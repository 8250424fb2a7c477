"""Ragged verify: requests that check different numbers of drafts in one captured graph.

Each request verifies at least its anchor (the root). Graphs are captured for token totals, the
tiers of a grid; leftover tokens of a tier go to padding rows.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def round_up_grid(total: int, grid: Sequence[int]) -> int:
    """The smallest tier that holds `total` tokens; `grid` ascends.

    Raises:
        ValueError: an empty grid, or more tokens than its last tier.
    """
    if not grid:
        raise ValueError("round_up_grid requires a non-empty grid")
    if total > grid[-1]:
        raise ValueError(
            f"total {total} exceeds max grid tier {grid[-1]}; "
            "the caller must reject this batch before selecting a graph tier"
        )
    return grid[bisect.bisect_left(grid, total)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaggedVerifyLayout:
    """How many tokens each request verifies, and the tier that holds them.

    Attributes:
        verify_lens_cpu: tokens per request, anchor included.
        total_verify_tokens: their sum.
        graph_num_tokens: the tier.
        cap: no request may verify more; None is no bound.
    """

    verify_lens_cpu: list[int]
    total_verify_tokens: int
    graph_num_tokens: int
    cap: int | None = None

    def __post_init__(self) -> None:
        """Refuse lengths that a graph could not hold.

        Raises:
            ValueError: with the engine's messages.
        """
        if not self.verify_lens_cpu:
            raise ValueError("RaggedVerifyLayout requires at least one request")
        if min(self.verify_lens_cpu) < 1:
            raise ValueError(
                f"every request must verify the anchor (verify_len >= 1), got "
                f"{self.verify_lens_cpu}"
            )
        if self.cap is not None and max(self.verify_lens_cpu) > self.cap:
            raise ValueError(
                f"capped layout has a row exceeding cap={self.cap}: {self.verify_lens_cpu}"
            )
        if self.total_verify_tokens != sum(self.verify_lens_cpu):
            raise ValueError(
                f"total_verify_tokens {self.total_verify_tokens} != "
                f"sum(verify_lens_cpu) {sum(self.verify_lens_cpu)}"
            )
        if self.total_verify_tokens > self.graph_num_tokens:
            raise ValueError(
                f"total_verify_tokens {self.total_verify_tokens} exceeds "
                f"graph_num_tokens {self.graph_num_tokens}"
            )

    @classmethod
    def from_verify_lens(
        cls, verify_lens_cpu: Sequence[int], grid: Sequence[int], *, cap: int | None = None
    ) -> "RaggedVerifyLayout":
        """The layout of these lengths in the smallest tier that holds them."""
        total = sum(verify_lens_cpu)
        return cls(
            verify_lens_cpu=list(verify_lens_cpu),
            total_verify_tokens=total,
            graph_num_tokens=round_up_grid(total, grid),
            cap=cap,
        )

    def extend_start_loc(self) -> Tensor:
        """First token of each request, `[bs]` int32."""
        lens = torch.tensor(self.verify_lens_cpu, dtype=torch.int32)
        return (lens.cumsum(0) - lens).to(torch.int32)


def build_capture_verify_lens(
    *, num_tokens: int, num_slots: int, num_draft_tokens: int
) -> list[int]:
    """Even lengths that fill a tier exactly, for capturing its graph.

    Raises:
        ValueError: fewer tokens than rows, or more than the rows can hold.
    """
    if num_slots < 1 or num_tokens < num_slots:
        raise ValueError(
            f"capture layout needs 1 <= num_slots <= num_tokens, got "
            f"num_slots={num_slots}, num_tokens={num_tokens}"
        )
    if num_tokens > num_slots * num_draft_tokens:
        raise ValueError(
            f"capture layout cannot pack num_tokens={num_tokens} into "
            f"{num_slots} rows of at most {num_draft_tokens} tokens"
        )
    base, rest = divmod(num_tokens, num_slots)
    return [base + 1] * rest + [base] * (num_slots - rest)
