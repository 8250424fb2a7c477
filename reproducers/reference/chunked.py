"""Verify without stored states: the UT/WY form, exact for chains and, along paths, for trees.

With `decay[i, j]` = log decay on the way from node j (exclusive) to node i (inclusive):

    A_ij = beta_i (k_i exp(decay_ij)) . k_j     for strict ancestors j of i, else 0
    (I + A) D = R,  R_i = beta_i (v_i - S0 (k_i exp(total_i)))
    o_i = S0 (q_i exp(total_i)) + sum_j ((q_i exp(decay_ij)) . k_j) D_j    for j = i and ancestors

A chain's ancestors are all earlier rows. Engine kernels build exactly that mask, so they are right
for chains only; the transform itself is not bound to it.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from reproducers.reference.gates import per_key_channel, prepare_k, prepare_q


class ChunkedVerify(NamedTuple):
    """Result of one request.

    Attributes:
        out: `[T, HV, V]`.
        D: `[T, HV, V]` what each node writes (u of the recurrence).
        final_state: `[HV, V, K]` after the last row.
    """

    out: Tensor
    D: Tensor
    final_state: Tensor


def path_log_decay(g: Tensor, parent: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Log decay along the path between nodes, and from the committed state to each node.

    Summed along the path, not as a difference of prefix sums: strong gates would lose digits.

    Args:
        g: `[T, HV, K or 1]` log decay of each node.
        parent: `[T]` parent node, -1 for the committed state; None: the row above (a chain).

    Returns:
        decay: `[T, T, HV, K or 1]`, -inf where j is neither i nor an ancestor of i.
        total: `[T, HV, K or 1]`.
    """
    T = g.shape[0]
    above = range(-1, T - 1) if parent is None else parent.tolist()
    decay = g.new_full((T, *g.shape), float("-inf"))
    total = torch.zeros_like(g)
    for i, p in enumerate(above):
        if p >= 0:
            decay[i] = decay[p] + g[i]
            total[i] = total[p]
        decay[i, i] = 0.0
        total[i] += g[i]
    return decay, total


def naive_chunk_verify(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    initial_state: Tensor,
    parent: Tensor | None = None,
    scale: float | None = None,
) -> ChunkedVerify:
    """Outputs of one request's nodes without a state per node.

    Args:
        q: `[T, H, K]`, before normalisation.
        k: `[T, H, K]`, before normalisation.
        v: `[T, HV, V]`.
        g: `[T, HV]` or `[T, HV, K]` log decay.
        beta: `[T, HV]`.
        initial_state: `[HV, V, K]` committed state.
        parent: `[T]` parent node, -1 for the committed state; None: a chain.
        scale: K^-0.5 by default.
    """
    T, HV = v.shape[:2]
    q, k = prepare_q(q, HV, scale), prepare_k(k, HV)
    decay, total = path_log_decay(per_key_channel(g, v), parent)
    weight = decay.exp()
    strict = weight * ~torch.eye(T, dtype=torch.bool, device=v.device).view(T, T, 1, 1)
    A = torch.einsum("ih,ihk,ijhk,jhk->hij", beta, k, strict.expand(T, T, *k.shape[1:]), k)
    from_start = total.exp()
    R = beta.unsqueeze(-1) * (v - torch.einsum("hvk,ihk->ihv", initial_state, k * from_start))
    unit = torch.eye(T, dtype=v.dtype, device=v.device)
    D = torch.linalg.solve_triangular(
        A + unit, R.transpose(0, 1), upper=False, unitriangular=True
    ).transpose(0, 1)
    attend = torch.einsum("ihk,ijhk,jhk->hij", q, weight.expand(T, T, *k.shape[1:]), k)
    out = torch.einsum("hvk,ihk->ihv", initial_state, q * from_start)
    out = out + torch.einsum("hij,jhv->ihv", attend, D)
    if T == 0:
        return ChunkedVerify(out, D, initial_state.clone())
    written = torch.einsum("jhv,jhk->hvk", D, k * weight[-1])
    return ChunkedVerify(out, D, initial_state * from_start[-1].unsqueeze(-2) + written)
