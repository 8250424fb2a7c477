"""Which step of a verify each request commits."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

from reproducers.upstream.subject import Subject

NODES = 3
"""Verify tokens a request."""
ACCEPT_INDEX = [[0, 1], [3, 4]]
"""Global ids of the accepted nodes of two requests, one draft step: root and first child."""


def committed_steps(subject: Subject) -> Callable[[Sequence[int]], list[int]]:
    """`steps(accept_lens)`: the release's own `_verify_commit_step_indices` for two requests."""
    utils, torch = subject.load("sglang.srt.speculative.spec_utils"), subject.torch

    def steps(accept_lens: Sequence[int]) -> list[int]:
        batch = SimpleNamespace(mamba_track_indices=None, seq_lens=torch.tensor([5, 9]))
        subject.in_place_of("ScheduleBatch", batch, why="of a batch only what the function reads")
        found, _track = utils._verify_commit_step_indices(  # noqa: SLF001  # the place of the fault
            batch=batch,
            accept_index=torch.tensor(ACCEPT_INDEX, dtype=torch.int32),
            accept_lens=torch.tensor(accept_lens, dtype=torch.int32),
            draft_token_num=NODES,
        )
        return [int(step) for step in found]

    return steps
