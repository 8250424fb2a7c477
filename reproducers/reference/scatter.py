"""Commit after verify: the accepted step's state moves from the scratch into the pool.

Layouts are the engine's, layers first. A negative step or a negative slot commits nothing.
"""

import torch
from torch import Tensor


def naive_mamba_state_scatter_with_mask(
    dst: Tensor, src: Tensor, dst_indices_raw: Tensor, step_indices_raw: Tensor
) -> None:
    """`dst[:, slot_b] = src[:, b, step_b]` where both are valid, in place.

    Args:
        dst: `[layers, slots, ...]` committed states.
        src: `[layers, rows, steps, ...]` scratch; row b belongs to request b.
        dst_indices_raw: `[bs]` slot, negative for padding.
        step_indices_raw: `[bs]` step, negative for nothing.

    Raises:
        ValueError: ranks or lengths that do not fit, with the engine's messages.
    """
    if step_indices_raw.shape[0] == 0:
        return
    if dst.ndim < 2 or src.ndim < 3:  # layer and slot; layer, row and step
        raise ValueError(f"Unexpected tensor ranks: {dst.ndim=} {src.ndim=}")
    if dst.shape[0] != src.shape[0]:
        raise ValueError(f"Layer dimension mismatch: {dst.shape[0]=} vs {src.shape[0]=}")
    if dst.shape[2:] != src.shape[3:]:
        raise ValueError(f"Trailing dims mismatch: {dst.shape[2:]=} vs {src.shape[3:]=}")
    if dst_indices_raw.ndim != 1 or step_indices_raw.ndim != 1:
        raise ValueError(f"indices must be 1D: {dst_indices_raw.shape=} {step_indices_raw.shape=}")
    if dst_indices_raw.shape[0] != step_indices_raw.shape[0]:
        raise ValueError(
            f"indices length mismatch: {dst_indices_raw.shape[0]=} vs {step_indices_raw.shape[0]=}"
        )
    valid = ((dst_indices_raw >= 0) & (step_indices_raw >= 0)).nonzero().flatten()
    slots, steps = dst_indices_raw[valid].long(), step_indices_raw[valid].long()
    dst[:, slots] = src[:, valid, steps].to(dst.dtype)


def commit_states_after_verify(
    ssm_states: Tensor,
    intermediate_ssm: Tensor,
    cache_indices: Tensor,
    last_correct_step_indices: Tensor,
    *,
    mamba_track_indices: Tensor | None = None,
    mamba_steps_to_track: Tensor | None = None,
) -> None:
    """Commit one layer in place, and keep the tracked state in its own slot.

    Args:
        ssm_states: `[slots, HV, V, K]`.
        intermediate_ssm: `[rows, steps, HV, V, K]`, identity row map.
        cache_indices: `[bs]`.
        last_correct_step_indices: `[bs]`.
        mamba_track_indices: `[bs]` slot for the prefix cache.
        mamba_steps_to_track: `[bs]`, -1 for nothing.
    """
    dst, src = ssm_states.unsqueeze(0), intermediate_ssm.unsqueeze(0)
    naive_mamba_state_scatter_with_mask(dst, src, cache_indices, last_correct_step_indices)
    if mamba_track_indices is not None and mamba_steps_to_track is not None:
        naive_mamba_state_scatter_with_mask(dst, src, mamba_track_indices, mamba_steps_to_track)


def chain_last_step(accept_lens: Tensor) -> Tensor:
    """Last accepted step of a chain: `accept_lens - 1`, `[bs]` int64."""
    return accept_lens.to(torch.int64) - 1
