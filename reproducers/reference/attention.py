"""Extend attention with a tree mask: the committed prefix is always visible, drafts by the mask.

Source of the rules: the engine's CPU kernel `extend_attention_cpu`. A node of a draft tree may
look at its ancestors and itself, never at siblings that happen to stand in an earlier row.
"""

import torch
from torch import Tensor

# Native code prints scalar types by these names.
_SCALAR_TYPES = {
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.float32: "Float",
    torch.float64: "Double",
    torch.bool: "Bool",
}


def _scalar_type(x: Tensor) -> str:
    return _SCALAR_TYPES.get(x.dtype, str(x.dtype))


def _check_indices(
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    extend_seq_lens: Tensor,
    extend_start_loc: Tensor,
) -> None:
    """The kernel's checks of index dtypes, in its order."""
    if req_to_token.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(
            "extend: expect req_to_token to be int32 or int64, got " + _scalar_type(req_to_token)
        )
    if seq_lens.dtype != torch.int64:
        raise RuntimeError(f"extend: expect req_lens to be int64, got {_scalar_type(seq_lens)}")
    if req_pool_indices.dtype != torch.int64:
        raise RuntimeError(
            f"extend: expect req_pool_indices to be int64, got {_scalar_type(req_pool_indices)}"
        )
    if not extend_seq_lens.dtype == extend_start_loc.dtype == req_to_token.dtype:
        raise RuntimeError(
            "extend: expect extend_seq_lens and extend_start_loc to have same dtype "
            "as req_to_token."
        )


def _check_tree_mask(tree_mask: Tensor, num_seqs: int, max_len_extend: int) -> None:
    """The mask is bool and QLEN_ONLY: `[num_seqs, n, n]` flat."""
    if tree_mask.dtype != torch.bool:
        raise RuntimeError(f"extend: expect tree_mask to be bool, got {_scalar_type(tree_mask)}")
    expected = num_seqs * max_len_extend * max_len_extend
    if tree_mask.numel() != expected:
        raise RuntimeError(
            "extend: expect tree_mask numel to be num_seqs * max_len_extend^2 = "
            f"{expected}, got {tree_mask.numel()}"
        )


def naive_extend_attention(
    q_extend: Tensor,
    k_extend: Tensor,
    v_extend: Tensor,
    *,
    k_buffer: Tensor,
    v_buffer: Tensor,
    req_to_token: Tensor,
    req_pool_indices: Tensor,
    seq_lens: Tensor,
    extend_seq_lens: Tensor,
    extend_start_loc: Tensor,
    max_len_extend: int,
    sm_scale: float | None = None,
    logit_cap: float = 0.0,
    tree_mask: Tensor | None = None,
) -> Tensor:
    """Attend from the extend rows to the committed prefix and to each other.

    Args:
        q_extend: `[rows, HQ, D]`, requests one after the other.
        k_extend: `[rows, HKV, D]`; query head h reads key head h // (HQ / HKV).
        v_extend: `[rows, HKV, DV]`.
        k_buffer: `[slots, HKV, D]`, the key cache.
        v_buffer: `[slots, HKV, DV]`, the value cache.
        req_to_token: `[pool, max_context_len]` slot of each committed token, int32 or int64.
        req_pool_indices: `[bs]` int64, row of `req_to_token`.
        seq_lens: `[bs]` int64, prefix + extend.
        extend_seq_lens: `[bs]`, dtype of `req_to_token`.
        extend_start_loc: `[bs]`, dtype of `req_to_token`.
        max_len_extend: longest extend; the size of a mask row.
        sm_scale: D^-0.5 by default.
        logit_cap: `cap * tanh(score / cap)` where positive.
        tree_mask: flat bool `bs * n * n`; None means causal.

    Returns:
        `[rows, HQ, DV]` in q's dtype; softmax in at least float32.

    Raises:
        RuntimeError: the kernel's checks, with its messages.
    """
    _check_indices(req_to_token, req_pool_indices, seq_lens, extend_seq_lens, extend_start_loc)
    num_seqs = seq_lens.shape[0]
    if tree_mask is not None:
        _check_tree_mask(tree_mask, num_seqs, max_len_extend)
        tree_mask = tree_mask.view(num_seqs, max_len_extend, max_len_extend)
    scale = q_extend.shape[-1] ** -0.5 if sm_scale is None else sm_scale
    groups = q_extend.shape[1] // k_extend.shape[1]
    work = torch.promote_types(q_extend.dtype, torch.float32)
    out = q_extend.new_zeros(*q_extend.shape[:2], v_extend.shape[-1])
    for r in range(num_seqs):
        n, seq_len, pool = int(extend_seq_lens[r]), int(seq_lens[r]), int(req_pool_indices[r])
        prefix = seq_len - n
        if prefix < 0:
            raise RuntimeError("prefix len < 0!")
        if seq_len > req_to_token.shape[1]:
            raise RuntimeError("seq_len out of scope!")
        if pool >= req_to_token.shape[0]:
            raise RuntimeError("req_pool_id out of scope!")
        if tree_mask is not None and n != max_len_extend:
            raise RuntimeError(
                f"extend attention: tree_mask requires uniform extend_seq_lens, got {n}"
            )
        rows = slice(int(extend_start_loc[r]), int(extend_start_loc[r]) + n)
        slots = req_to_token[pool, :prefix].long()
        keys = torch.cat([k_buffer[slots], k_extend[rows]]).to(work)
        values = torch.cat([v_buffer[slots], v_extend[rows]]).to(work)
        keys = keys.repeat_interleave(groups, dim=1)
        values = values.repeat_interleave(groups, dim=1)

        scores = torch.einsum("qhd,khd->hqk", q_extend[rows].to(work), keys) * scale
        if logit_cap > 0:
            scores = logit_cap * torch.tanh(scores / logit_cap)
        visible = torch.ones(n, prefix + n, dtype=torch.bool, device=q_extend.device)
        visible[:, prefix:] = visible[:, prefix:].tril() if tree_mask is None else tree_mask[r]
        weights = scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)
        out[rows] = torch.einsum("hqk,khd->qhd", weights, values).to(out.dtype)
    return out
