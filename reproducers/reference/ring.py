"""The circular replay ring: rounds of verify and commit between two folds of the state.

A slot's cursor is `(write_pos, base, is_flush)`. Its history, accepted but not yet folded, stands
at ring rows `base .. base + write_pos - 1`; the window of the running verify follows. A slot is
flushed one round early, so that a full window always fits: `write_pos + 2 * max_spec > L`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from reproducers.reference.chunked import naive_chunk_verify
from reproducers.reference.recurrent import delta_rule_step
from reproducers.reference.replay import ReplayWindow


class RingCursor(NamedTuple):
    """Where one slot stands in its ring."""

    write_pos: int = 0
    base: int = 0
    is_flush: bool = False


def check_ring_length(length: int, max_spec: int) -> None:
    """Masks need a power of two; a round's window plus the next one's must fit.

    Raises:
        ValueError: with the engine's messages.
    """
    if length < 1 or length & (length - 1) != 0:
        raise ValueError(f"spec-verify ring length must be a power of two, got {length}")
    if length < 2 * max_spec:
        raise ValueError(
            f"spec-verify ring too small: {length} < 2 * {max_spec} (early-flush margin)"
        )


def history_slots(cursor: RingCursor, length: int) -> list[int]:
    """Ring rows of the accepted, unfolded records, oldest first."""
    return [(cursor.base + i) & (length - 1) for i in range(cursor.write_pos)]


def window_slots(cursor: RingCursor, count: int, length: int) -> list[int]:
    """Ring rows of the next `count` records."""
    start = cursor.base + cursor.write_pos
    return [(start + i) & (length - 1) for i in range(count)]


def advance(cursor: RingCursor, accepted: int, *, length: int, max_spec: int) -> RingCursor:
    """The cursor after a verify of which `accepted` rows hold; a flush has folded the history."""
    write_pos, base, is_flush = cursor
    if is_flush and accepted > 0:
        base = (base + write_pos) & (length - 1)
    write_pos = accepted if is_flush else write_pos + accepted
    return RingCursor(write_pos, base, write_pos + 2 * max_spec > length)


class ReplayRing:
    """One layer's rings over a committed pool `[slots, HV, V, K]`, folded in place on a flush."""

    def __init__(
        self,
        ssm_states: Tensor,
        *,
        num_k_heads: int,
        length: int,
        max_spec: int,
        is_kda: bool,
        dtype: torch.dtype,
    ) -> None:
        check_ring_length(length, max_spec)
        self.ssm_states = ssm_states
        self.length = length
        self.max_spec = max_spec
        self.window = ReplayWindow.allocate(
            ssm_states, num_k_heads, length, is_kda=is_kda, dtype=dtype
        )
        start = RingCursor(is_flush=2 * max_spec > length)
        self.cursors = [start] * ssm_states.shape[0]

    def verify(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        g: Tensor,
        beta: Tensor,
        *,
        cache_indices: Tensor,
        draft_token_num: int,
        scale: float | None = None,
    ) -> Tensor:
        """Outputs of a batch of chains, over the committed state and the ring's history.

        Shapes as in `naive_recurrent_verify`; padding requests (slot < 0) give zeros.

        Returns:
            `[bs * T, HV, V]`.

        Raises:
            ValueError: more rows than `max_spec`, for which the ring was sized.
        """
        T = draft_token_num
        if self.max_spec < T:
            raise ValueError(f"the ring is sized for {self.max_spec} rows a verify, got {T}.")
        work = torch.promote_types(torch.promote_types(q.dtype, v.dtype), torch.float32)
        out = torch.zeros_like(v, dtype=work)
        for b, slot in enumerate(cache_indices.tolist()):
            if slot < 0:
                continue
            cursor = self.cursors[slot]
            old = torch.tensor(history_slots(cursor, self.length), dtype=torch.int64)
            if cursor.is_flush:
                self._fold(slot, old)
                old = old[:0]
            rows = slice(b * T, (b + 1) * T)
            new = [x[rows].to(work) for x in (q, k, v, g, beta)]
            past = self.window.read(slot, old.to(v.device), work)
            # The history's queries were answered in their own rounds: zeros stand in for them.
            past = (torch.zeros_like(past[0]), *past)
            both = [torch.cat(pair) for pair in zip(past, new, strict=True)]
            start = self.ssm_states[slot].to(work)
            chunk = naive_chunk_verify(*both, initial_state=start, scale=scale)
            out[rows] = chunk.out[old.shape[0] :]
            target = torch.tensor(window_slots(cursor, T, self.length), device=v.device)
            self.window.write(slot, target.long(), new[1:])
        return out

    def _fold(self, slot: int, rows: Tensor) -> None:
        """Replay ring rows `[n]` into the slot's committed state."""
        work = torch.promote_types(self.ssm_states.dtype, torch.float32)
        records = self.window.read(slot, rows.to(self.ssm_states.device), work)
        state = self.ssm_states[slot : slot + 1].to(work)
        for t in range(rows.shape[0]):
            state, _ = delta_rule_step(state, *(x[t : t + 1].contiguous() for x in records))
        self.ssm_states[slot] = state[0].to(self.ssm_states.dtype)

    def commit(self, cache_indices: Tensor, accept_lens: Tensor) -> None:
        """Advance the cursors by the accepted tokens `[bs]`; slots `[bs]` below 0 are padding."""
        for slot, accepted in zip(cache_indices.tolist(), accept_lens.tolist(), strict=True):
            if slot >= 0:
                self.cursors[slot] = advance(
                    self.cursors[slot], accepted, length=self.length, max_spec=self.max_spec
                )
