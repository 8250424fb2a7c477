"""The verify tree of a batch: parents, child links, positions and the mask in three layouts.

Node 0 is the bonus token, node i is the candidate `selected_index[i - 1]`. `next_token[p]` is the
smallest child of p, `next_sibling[i]` the next larger child of the same parent, -1 is none.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor


class TreeMaskMode(IntEnum):
    """How a tree mask is laid out."""

    FULL_MASK = 0
    """Per request `N x (seq_len + N)`, prefix columns true; requests concatenated, flat bool."""
    QLEN_ONLY = 1
    """`bs * N * N`, flat bool."""
    QLEN_ONLY_BITPACKING = 2
    """`bs * N`, one unsigned integer a node: bit j says whether node j is visible."""


class DraftTree(NamedTuple):
    """The links of a batch of trees.

    Attributes:
        parent: `[bs, N]` int64, -1 at the root.
        retrieve_index: `[bs, N]` int64 global node id, b * N + i.
        retrieve_next_token: `[bs, N]` int64.
        retrieve_next_sibling: `[bs, N]` int64.
        positions: `[bs * N]` int64, seq_len + depth.
        ancestors: `[bs, N, N]` bool; row i is true at i and all its ancestors.
    """

    parent: Tensor
    retrieve_index: Tensor
    retrieve_next_token: Tensor
    retrieve_next_sibling: Tensor
    positions: Tensor
    ancestors: Tensor


def _check_table(name: str, table: Tensor, shape: tuple[int, int]) -> None:
    """Kernels address these tables by a stride they compute, so layout and width are fixed."""
    if table.dtype != torch.int64:
        raise RuntimeError(f"{name} must be int64")
    if not table.is_contiguous():
        raise RuntimeError(f"{name} must be contiguous")
    if tuple(table.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(table.shape)}, expected {shape}.")


def _parent_nodes(parent_list: list[int], selected: list[int], topk: int) -> list[int]:
    """Parent node of each node of one request; -1 at the root.

    Raises:
        ValueError: an orphan, a node whose parent candidate was not selected.
    """
    node_of = {candidate: node for node, candidate in enumerate(selected, start=1)}
    parents = [-1]
    for candidate in selected:
        if candidate < topk:
            parents.append(0)
            continue
        above = parent_list[candidate // topk]
        if above not in node_of:
            raise ValueError(
                f"invalid eagle tree: candidate {candidate} is selected without its parent {above}."
            )
        parents.append(node_of[above])
    return parents


def links_from_parents(parent: Tensor) -> tuple[Tensor, Tensor]:
    """`retrieve_next_token` and `retrieve_next_sibling`, both `[bs, N]` int64, of `[bs, N]`."""
    next_token, next_sibling = torch.full_like(parent, -1), torch.full_like(parent, -1)
    for b in range(parent.shape[0]):
        for i in range(parent.shape[1] - 1, 0, -1):
            p = int(parent[b, i])
            next_sibling[b, i] = next_token[b, p]
            next_token[b, p] = i
    return next_token, next_sibling


def parents_from_links(next_token: Tensor, next_sibling: Tensor) -> Tensor:
    """`parent` `[bs, N]` int64 of the links: one ascending pass, -1 at the root."""
    parent = torch.full_like(next_token, -1)
    for b in range(parent.shape[0]):
        for i in range(parent.shape[1]):
            if (child := int(next_token[b, i])) >= 0:
                parent[b, child] = i
            if (sibling := int(next_sibling[b, i])) >= 0:
                parent[b, sibling] = parent[b, i]
    return parent


def naive_build_tree(
    parent_list: Tensor,
    selected_index: Tensor,
    seq_lens: Tensor,
    *,
    topk: int,
    num_steps: int,
    num_draft_tokens: int,
) -> DraftTree:
    """Link the selected candidates of each request into a tree.

    Args:
        parent_list: `[bs, topk * (num_steps-1) + 1]` int64 contiguous; `[bs, 0]` for one step.
        selected_index: `[bs, N-1]` int64 contiguous, ascending.
        seq_lens: `[bs]` int64 committed tokens, without the drafts.
        topk: beams.
        num_steps: draft steps.
        num_draft_tokens: N.

    Raises:
        RuntimeError: a table that is not contiguous int64.
        ValueError: a table of another width, or an orphan.
    """
    bs, n, device = seq_lens.shape[0], num_draft_tokens, seq_lens.device
    width = topk * (num_steps - 1) + 1 if num_steps > 1 else 0
    _check_table("parent_list", parent_list, (bs, width))
    _check_table("selected_index", selected_index, (bs, n - 1))
    rows = zip(parent_list.tolist(), selected_index.tolist(), strict=True)
    nodes = [_parent_nodes(above, selected, topk) for above, selected in rows]
    parent = torch.tensor(nodes, dtype=torch.int64, device=device).view(bs, n)
    ancestors = torch.eye(n, dtype=torch.bool, device=device).repeat(bs, 1, 1)
    for i in range(1, n):
        ancestors[:, i] |= ancestors[torch.arange(bs, device=device), parent[:, i]]
    depth = ancestors.sum(dim=-1) - 1
    next_token, next_sibling = links_from_parents(parent)
    return DraftTree(
        parent=parent,
        retrieve_index=torch.arange(bs * n, device=device).view(bs, n),
        retrieve_next_token=next_token,
        retrieve_next_sibling=next_sibling,
        positions=(seq_lens.unsqueeze(1) + depth).flatten(),
        ancestors=ancestors,
    )


def tree_mask(tree: DraftTree, seq_lens: Tensor, tree_mask_mode: int) -> Tensor:
    """The mask in the layout of `tree_mask_mode`; see `TreeMaskMode` for shapes.

    Raises:
        NotImplementedError: no such mode.
        IndexError: bit packing of more than 32 nodes.
    """
    n = tree.ancestors.shape[-1]
    if tree_mask_mode == TreeMaskMode.QLEN_ONLY:
        return tree.ancestors.flatten()
    if tree_mask_mode == TreeMaskMode.FULL_MASK:
        parts = [
            torch.cat([nodes.new_ones(n, int(seq_len)), nodes], dim=1).flatten()
            for nodes, seq_len in zip(tree.ancestors, seq_lens, strict=True)
        ]
        return torch.cat(parts) if parts else tree.ancestors.flatten()
    if tree_mask_mode == TreeMaskMode.QLEN_ONLY_BITPACKING:
        packed_dtypes = [torch.uint8, torch.uint16, torch.uint32]
        dtype = packed_dtypes[math.ceil(math.log2((n + 7) // 8))]
        bits = 1 << torch.arange(n, device=seq_lens.device)
        return (tree.ancestors * bits).sum(dim=-1).flatten().to(dtype)
    raise NotImplementedError(f"Invalid tree mask: {tree_mask_mode=}")
