"""Greedy verification of a draft tree, and which state each request commits afterwards.

From the root: the target's token at the last accepted node picks the child that drafted it.
`accept_token_num` counts drafts only, `accept_lens` the bonus token too: it is at least 1.
"""

import torch
from torch import Tensor


def _check(name: str, x: Tensor, dtype: torch.dtype) -> None:
    if x.dtype != dtype:
        raise RuntimeError(f"{name} must be {str(dtype).removeprefix('torch.')}")
    if not x.is_contiguous():
        raise RuntimeError(f"{name} must be contiguous")


def naive_verify_tree_greedy(
    *,
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrieve_index: Tensor,
    retrieve_next_token: Tensor,
    retrieve_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Walk each tree and write the three outputs in place.

    Args:
        predicts: `[bs * N]` int32 out; the target's token at every accepted node.
        accept_index: `[bs, steps + 1]` int32 out, filled with -1; global ids of accepted nodes.
        accept_token_num: `[bs]` int32 out; accepted drafts.
        candidates: `[bs, N]` int64 token of each node.
        retrieve_index: `[bs, N]` int64 global node ids.
        retrieve_next_token: `[bs, N]` int64 first child.
        retrieve_next_sibling: `[bs, N]` int64 next sibling.
        target_predict: `[bs, N]` int64, the target's argmax after each node.

    Raises:
        RuntimeError: a dtype or a layout that the engine's operator refuses.
    """
    for name, out in (
        ("predicts", predicts),
        ("accept_index", accept_index),
        ("accept_token_num", accept_token_num),
    ):
        _check(name, out, torch.int32)
    for name, given in (
        ("candidates", candidates),
        ("retrieve_index", retrieve_index),
        ("retrieve_next_token", retrieve_next_token),
        ("retrieve_next_sibling", retrieve_next_sibling),
        ("target_predict", target_predict),
    ):
        _check(name, given, torch.int64)
    for b in range(candidates.shape[0]):
        last, accepted = 0, 0
        accept_index[b, 0] = retrieve_index[b, 0]
        for _ in range(accept_index.shape[1] - 1):
            wanted = int(target_predict[b, last])
            child = int(retrieve_next_token[b, last])
            while child != -1 and int(candidates[b, child]) != wanted:
                child = int(retrieve_next_sibling[b, child])
            if child == -1:
                break
            predicts[int(retrieve_index[b, last])] = wanted
            accepted += 1
            accept_index[b, accepted] = retrieve_index[b, child]
            last = child
        accept_token_num[b] = accepted
        predicts[int(retrieve_index[b, last])] = target_predict[b, last]


def verify_commit_step_indices(
    accept_index: Tensor,
    accept_lens: Tensor,
    seq_lens: Tensor,
    *,
    draft_token_num: int,
    mamba_track_interval: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The tree step whose state each request commits, and the one it keeps for the prefix cache.

    Args:
        accept_index: `[bs, steps + 1]` global ids of accepted nodes.
        accept_lens: `[bs]` accepted tokens, the bonus included.
        seq_lens: `[bs]` committed tokens before this verify.
        draft_token_num: N.
        mamba_track_interval: a state is kept where the length crosses a multiple of this.

    Returns:
        last_correct_step_indices: `[bs]` int64, the last accepted node.
        mamba_steps_to_track: `[bs]` int64, -1 where no multiple is crossed; None without interval.

    Raises:
        ValueError: an accept_lens below 1. The engine has no such guard: it reads column -1.
    """
    bs = accept_lens.shape[0]
    if bs and int(accept_lens.min()) < 1:
        raise ValueError(
            f"accept_lens counts the bonus token and is at least 1, got {accept_lens.tolist()}."
        )
    rows = torch.arange(bs, device=accept_index.device)
    offset = rows * draft_token_num
    accept_index, accept_lens = accept_index.long(), accept_lens.long()
    last = accept_index[rows, accept_lens - 1] - offset
    if mamba_track_interval is None:
        return last, None
    before, after = seq_lens.long(), seq_lens.long() + accept_lens
    crosses = before // mamba_track_interval != after // mamba_track_interval
    point = after // mamba_track_interval * mamba_track_interval
    column = (point - before - 1).clamp(min=0)
    track = accept_index[rows, column] - offset
    return last, torch.where(crosses, track, torch.full_like(track, -1))
