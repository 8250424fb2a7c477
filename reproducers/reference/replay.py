"""ReplaySSM: verify keeps the raw rows of a chain instead of a state per step; commit replays them.

A slot's window holds v, k before normalisation, g and beta of the last verify. The accepted prefix
is folded into the committed state by the same step as recurrent verify, so both commit the same
bits. A window has no parent table: it can only replay a chain.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from reproducers.reference.chunked import naive_chunk_verify
from reproducers.reference.recurrent import committed_states, delta_rule_step

NULL_BLOCK_ID = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayWindow:
    """One layer's windows, a row of `L` records per slot.

    Attributes:
        rawv: `[slots, HV, L, V]` activation dtype.
        rawk: `[slots, H, L, K]` activation dtype, before normalisation.
        g: `[slots, HV, L]` (GDN) or `[slots, HV, L, K]` (KDA), float32 or wider.
        beta: `[slots, HV, L]`, float32 or wider.
    """

    rawv: Tensor
    rawk: Tensor
    g: Tensor
    beta: Tensor

    def check_ranks(self, *, is_kda: bool) -> None:
        """Refuse tensors that still carry the layer dimension, or a gate of the other kind.

        Raises:
            AssertionError: with the engine's message.
        """
        ranks = (self.rawv.dim(), self.rawk.dim(), self.g.dim(), self.beta.dim())
        assert ranks == (4, 4, 4 if is_kda else 3, 3), "cache_ring expects per-layer ring views"

    @property
    def length(self) -> int:
        """L."""
        return self.rawv.shape[2]

    @classmethod
    def allocate(
        cls, ssm_states: Tensor, num_k_heads: int, length: int, *, is_kda: bool, dtype: torch.dtype
    ) -> "ReplayWindow":
        """Windows of `length` rows for every slot of `[slots, HV, V, K]`."""
        slots, HV, V, K = ssm_states.shape
        gate = torch.promote_types(ssm_states.dtype, torch.float32)
        g_shape = (slots, HV, length, K) if is_kda else (slots, HV, length)
        return cls(
            rawv=ssm_states.new_zeros(slots, HV, length, V, dtype=dtype),
            rawk=ssm_states.new_zeros(slots, num_k_heads, length, K, dtype=dtype),
            g=ssm_states.new_zeros(*g_shape, dtype=gate),
            beta=ssm_states.new_zeros(slots, HV, length, dtype=gate),
        )

    def write(self, slot: int, rows: Tensor, records: Iterable[Tensor]) -> None:
        """Store one request's `k [n, H, K]`, `v [n, HV, V]`, `g`, `beta` at `rows` `[n]`."""
        for window, record in zip((self.rawk, self.rawv, self.g, self.beta), records, strict=True):
            window[slot][:, rows] = record.transpose(0, 1).to(window.dtype)

    def read(self, slot: int, rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """What `write` stored, in its order and shapes."""
        return tuple(
            window[slot][:, rows].transpose(0, 1).to(dtype)
            for window in (self.rawk, self.rawv, self.g, self.beta)
        )


def naive_replay_verify(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    ssm_states: Tensor,
    cache_indices: Tensor,
    draft_token_num: int,
    window: ReplayWindow,
    retrieve_parent_token: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Chunked outputs of a batch of chains; their rows into the windows.

    Shapes as in `naive_recurrent_verify`. Rows from L on are not stored: they cannot be committed.
    Padding requests (slot < 0) start from a zero state and store nothing.

    Returns:
        `[bs * T, HV, V]`.

    Raises:
        AssertionError: a parent table.
    """
    assert retrieve_parent_token is None, (
        "ReplaySSM fold-every-commit supports a linear draft chain only "
        "(topk <= 1); EAGLE tree verify must use the recurrent verify."
    )
    T = draft_token_num
    window.check_ranks(is_kda=g.dim() == v.dim())
    work = torch.promote_types(torch.promote_types(q.dtype, ssm_states.dtype), torch.float32)
    start = committed_states(ssm_states, cache_indices).to(work)
    stored = torch.arange(min(T, window.length), device=q.device)
    out = torch.zeros_like(v, dtype=work)
    for b, slot in enumerate(cache_indices.tolist()):
        rows = slice(b * T, (b + 1) * T)
        chunk = [x[rows].to(work) for x in (q, k, v, g, beta)]
        out[rows] = naive_chunk_verify(*chunk, initial_state=start[b], scale=scale).out
        if slot >= 0:
            window.write(slot, stored, (x[: stored.shape[0]] for x in chunk[1:]))
    return out


def fold_every_commit(
    ssm_states: Tensor,
    window: ReplayWindow,
    cache_indices: Tensor,
    accept_lens: Tensor,
    *,
    mamba_track_indices: Tensor | None = None,
    mamba_steps_to_track: Tensor | None = None,
    null_block_id: int = NULL_BLOCK_ID,
) -> None:
    """Replay each request's accepted rows into its committed state, in place.

    Args:
        ssm_states: `[slots, HV, V, K]`.
        window: rows of the last verify.
        cache_indices: `[bs]`; slots at or below `null_block_id` are skipped.
        accept_lens: `[bs]` accepted tokens; 0 and less are skipped.
        mamba_track_indices: `[bs]` slot that keeps the state after the tracked step.
        mamba_steps_to_track: `[bs]`, -1 for nothing.
        null_block_id: -1. With 0, a default of one engine kernel, slot 0 is never committed.

    Raises:
        ValueError: accept_lens beyond the window. The engine's kernels read the next head's rows.
    """
    if accept_lens.numel() and int(accept_lens.max()) > window.length:
        raise ValueError(
            f"accept_lens {accept_lens.tolist()} exceed the replay window of {window.length} rows."
        )
    work = torch.promote_types(ssm_states.dtype, torch.float32)
    slots = cache_indices.clamp(min=0).long()
    records = [x[slots].to(work) for x in (window.rawk, window.rawv, window.g, window.beta)]
    state = ssm_states[slots].to(work)
    live = cache_indices > null_block_id
    for t in range(int(accept_lens.max()) if accept_lens.numel() else 0):
        after, _ = delta_rule_step(state, *(x[:, :, t].contiguous() for x in records))
        state = torch.where((t < accept_lens).view(-1, 1, 1, 1), after, state)
        if mamba_track_indices is not None and mamba_steps_to_track is not None:
            keep = live & (mamba_steps_to_track == t) & (t < accept_lens)
            ssm_states[mamba_track_indices[keep].long()] = state[keep].to(ssm_states.dtype)
    commit = live & (accept_lens > 0)
    ssm_states[cache_indices[commit].long()] = state[commit].to(ssm_states.dtype)
