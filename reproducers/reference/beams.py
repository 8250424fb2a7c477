"""From draft steps to chosen candidates: beam expansion and the selection of N - 1 nodes.

Candidate ids count every token the draft model proposed, root's children first:
`0 .. topk-1` from step 0, then `topk + topk^2 * (step - 1) + beam * topk + j`. Ids grow with depth,
so ascending ids are a topological order.

Ties go to the smaller id, hence to the parent: a child whose conditional probability is exactly 1
has its parent's score, and a selection that takes the child alone leaves an orphan.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def _best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of `[bs, n]`, best first, equal scores by ascending index."""
    if count > scores.shape[-1]:
        raise RuntimeError("selected index k out of range")
    values, index = scores.sort(dim=-1, descending=True, stable=True)
    return values[:, :count], index[:, :count]


def expand_beams(
    probs: Sequence[Tensor], tokens: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Score every candidate and keep the topk best as the next step's beams.

    Args:
        probs: one per step; `[bs, topk]`, then `[bs * topk, topk]` conditional probabilities.
        tokens: int64, same shapes.

    Returns:
        scores: `[bs, topk + (steps-1) * topk^2]` cumulative, by candidate id.
        token_ids: int64, same shape.
        parent_list: `[bs, topk * (steps-1) + 1]` int64, contiguous: -1, then the candidate ids of
            the beams that steps 1.. expand; `[bs, 0]` for a single step.
    """
    bs, topk = probs[0].shape
    device = tokens[0].device
    beam_scores = probs[0]
    beam_ids = torch.arange(topk, device=device).expand(bs, topk)
    scores, token_ids = [probs[0]], [tokens[0]]
    parents = [torch.full((bs, 1), -1, dtype=torch.int64, device=device)]
    for step in range(1, len(probs)):
        parents.append(beam_ids)
        children = (beam_scores.unsqueeze(2) * probs[step].view(bs, topk, topk)).flatten(1)
        scores.append(children)
        token_ids.append(tokens[step].view(bs, topk * topk))
        beam_scores, chosen = _best(children, topk)
        beam_ids = topk + topk**2 * (step - 1) + chosen
    parent_list = torch.cat(parents, dim=1) if len(probs) > 1 else parents[0][:, :0]
    return torch.cat(scores, dim=1), torch.cat(token_ids, dim=1), parent_list.contiguous()


def organize_draft_results(
    scores: Tensor, token_ids: Tensor, num_draft_tokens: int
) -> tuple[Tensor, Tensor]:
    """Keep the N - 1 best candidates, in topological order.

    Args:
        scores: `[bs, candidates]` cumulative scores.
        token_ids: `[bs, candidates]` int64.
        num_draft_tokens: N, the root included.

    Returns:
        selected_index: `[bs, N-1]` int64 candidate ids, ascending.
        draft_tokens: `[bs, N-1]` int64.

    Raises:
        RuntimeError: fewer than N - 1 candidates.
    """
    selected = _best(scores, num_draft_tokens - 1)[1].sort(dim=-1).values
    return selected, token_ids.gather(1, selected)


def topk1_chain_tables(
    bs: int,
    speculative_num_steps: int,
    speculative_num_draft_tokens: int,
    *,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """parent_list `[bs, steps]` and selected_index `[bs, N-1]` of a chain: known without scores.

    Raises:
        AssertionError: N is not steps + 1.
    """
    assert speculative_num_draft_tokens == speculative_num_steps + 1, (
        "topk=1 requires speculative_num_draft_tokens == speculative_num_steps + 1, "
        f"got {speculative_num_draft_tokens} and {speculative_num_steps}"
    )
    steps = speculative_num_steps
    selected_index = torch.arange(steps, device=device).repeat(bs, 1)
    parent_list = selected_index - 1 if steps > 1 else selected_index[:, :0]
    return parent_list, selected_index


def per_step_draft_out_cache_loc(
    out_cache_loc: Tensor, batch_size: int, topk: int, num_steps: int
) -> Tensor:
    """Cache slots that each draft step writes: `[num_steps, bs * topk]` of a flat table.

    Raises:
        AssertionError: the table has not one slot per request, beam and step.
    """
    expected = batch_size * topk * num_steps
    assert out_cache_loc.shape[0] == expected, (
        f"out_cache_loc.shape[0]={out_cache_loc.shape[0]} != "
        f"batch_size * topk * num_steps = {batch_size}*{topk}*{num_steps}={expected}"
    )
    per_step = out_cache_loc.view(batch_size, topk, num_steps).permute(2, 0, 1)
    return per_step.reshape(num_steps, -1)
