"""Recurrent verify: one gated delta-rule step per node, from the state of its parent node.

The committed pool is never written. Node t's state goes to `scratch[row, t]`; a tree node starts
from `scratch[row, parent]`, read back in the scratch's dtype, a chain node from the running state.
"""

import torch
from torch import Tensor

from reproducers.reference.gates import per_key_channel, prepare_k, prepare_q


def delta_rule_step(
    state: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor
) -> tuple[Tensor, Tensor]:
    """Decay the state, then write what the key does not yet recall.

    `h = S * exp(g)`, `u = beta * (v - h k)`, `S' = h + u k^T` with k normalised. Callers that must
    agree bit for bit (verify, fold) go through this one sequence of operations, batch for batch.

    Args:
        state: `[bs, HV, V, K]`.
        k: `[bs, H, K]`, before normalisation.
        v: `[bs, HV, V]`.
        g: `[bs, HV]` or `[bs, HV, K]` log decay.
        beta: `[bs, HV]`.

    Returns:
        S' `[bs, HV, V, K]` and u `[bs, HV, V]`.
    """
    k = prepare_k(k, v.shape[-2])
    decayed = state * per_key_channel(g, v).exp().unsqueeze(-2)
    recalled = (decayed * k.unsqueeze(-2)).sum(dim=-1)
    u = (v - recalled) * beta.unsqueeze(-1)
    return decayed + u.unsqueeze(-1) * k.unsqueeze(-2), u


def committed_states(pool: Tensor, cache_indices: Tensor) -> Tensor:
    """Start states `[bs, HV, V, K]` of `[slots, HV, V, K]`; zero for padding rows (slot < 0)."""
    start = pool[cache_indices.clamp(min=0).long()]
    return torch.where((cache_indices >= 0).view(-1, 1, 1, 1), start, torch.zeros_like(start))


def scratch_rows(bs: int, scratch: Tensor, intermediate_state_indices: Tensor | None) -> Tensor:
    """Scratch row of each request: `arange` by default; rows beyond it clamp to the padding row."""
    rows = (
        torch.arange(bs, device=scratch.device)
        if intermediate_state_indices is None
        else intermediate_state_indices[:bs].long()
    )
    return rows.clamp(max=scratch.shape[0] - 1)


def naive_recurrent_verify(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    ssm_states: Tensor,
    cache_indices: Tensor,
    draft_token_num: int,
    intermediate_ssm: Tensor | None = None,
    intermediate_state_indices: Tensor | None = None,
    retrieve_parent_token: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Outputs of all nodes; their states into the scratch.

    Args:
        q: `[bs * T, H, K]`, before normalisation.
        k: `[bs * T, H, K]`, before normalisation.
        v: `[bs * T, HV, V]`.
        g: `[bs * T, HV]` or `[bs * T, HV, K]` log decay.
        beta: `[bs * T, HV]`.
        ssm_states: `[slots, HV, V, K]` committed pool; only read.
        cache_indices: `[bs]` slot of each request, negative for padding.
        draft_token_num: T.
        intermediate_ssm: `[rows, steps, HV, V, K]` scratch, steps >= T; None: a chain's outputs
            only.
        intermediate_state_indices: `[bs]` scratch row of each request.
        retrieve_parent_token: `[bs, T]` parent node, -1 for the committed state; None: a chain.
        scale: K^-0.5 by default.

    Returns:
        `[bs * T, HV, V]`.

    Raises:
        ValueError: a tree without a scratch, where the engine silently runs the chain, or a
            scratch with fewer than T steps, where it writes into the next request's row.
        AssertionError: a scale that is not positive.
    """
    bs, T, HV = cache_indices.shape[0], draft_token_num, v.shape[-2]
    if retrieve_parent_token is not None and intermediate_ssm is None:
        raise ValueError(
            "A draft tree is verified through its scratch: intermediate_ssm is None "
            "while retrieve_parent_token is given."
        )
    if intermediate_ssm is not None and intermediate_ssm.shape[1] < T:
        raise ValueError(
            f"Verify needs {T} scratch steps, but intermediate_ssm only has "
            f"{intermediate_ssm.shape[1]}."
        )
    work = torch.promote_types(torch.promote_types(q.dtype, ssm_states.dtype), torch.float32)
    q = prepare_q(q.to(work), HV, scale)
    q, k, v, g, beta = (x.to(work).reshape(bs, T, *x.shape[1:]) for x in (q, k, v, g, beta))
    start = committed_states(ssm_states, cache_indices).to(work)
    rows = None
    if intermediate_ssm is not None:
        rows = scratch_rows(bs, intermediate_ssm, intermediate_state_indices)
    out = torch.zeros_like(v)
    state = start
    for t in range(T):
        if retrieve_parent_token is not None and intermediate_ssm is not None:
            parent = retrieve_parent_token[:, t].long()
            stored = intermediate_ssm[rows, parent.clamp(min=0)].to(work)
            state = torch.where((parent >= 0).view(-1, 1, 1, 1), stored, start)
        state, _ = delta_rule_step(state, *(x[:, t].contiguous() for x in (k, v, g, beta)))
        out[:, t] = (state * q[:, t].unsqueeze(-2)).sum(dim=-1)
        if intermediate_ssm is not None:
            intermediate_ssm[rows, t] = state.to(intermediate_ssm.dtype)
    return out.view(bs * T, *out.shape[2:])
