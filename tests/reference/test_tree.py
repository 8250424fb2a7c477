"""Draft trees: expansion, selection, links, positions and masks, against paths spelled out."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.beams import (
    expand_beams,
    organize_draft_results,
    per_step_draft_out_cache_loc,
    topk1_chain_tables,
)
from reproducers.reference.tree import (
    TreeMaskMode,
    links_from_parents,
    naive_build_tree,
    parents_from_links,
    tree_mask,
)

shapes = st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**31))


def draft(bs: int, topk: int, steps: int, seed: int) -> tuple[list[torch.Tensor], ...]:
    gen = torch.Generator().manual_seed(seed)
    sizes = [(bs, topk)] + [(bs * topk, topk)] * (steps - 1)
    probs = [torch.rand(s, generator=gen, dtype=torch.float64) for s in sizes]
    tokens = [torch.randint(0, 50, s, generator=gen) for s in sizes]
    return probs, tokens


def candidates_by_path(probs: list[np.ndarray], topk: int, b: int) -> list[tuple[float, int]]:
    """(score, parent candidate or -1) of each candidate of request b, in order of ids."""
    found = [(float(p), -1) for p in probs[0][b]]
    beams = list(range(topk))
    for step in range(1, len(probs)):
        first = len(found)
        for place, beam in enumerate(beams):
            found += [(found[beam][0] * float(p), beam) for p in probs[step][b * topk + place]]
        children = range(first, len(found))
        beams = sorted(children, key=lambda c: -found[c][0])[:topk]
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(shapes, st.integers(1, 40))
def test_the_tree_is_the_best_candidates_under_their_own_parents(
    shape: tuple[int, int, int, int], wanted: int
) -> None:
    bs, topk, steps, seed = shape
    probs, tokens = draft(bs, topk, steps, seed)
    n = 1 + min(wanted, topk + (steps - 1) * topk**2)
    scores, ids, parent_list = expand_beams(probs, tokens)
    selected, draft_tokens = organize_draft_results(scores, ids, n)
    seq_lens = torch.arange(bs) * 3 + 2
    tree = naive_build_tree(
        parent_list, selected, seq_lens, topk=topk, num_steps=steps, num_draft_tokens=n
    )
    for b in range(bs):
        found = candidates_by_path([p.numpy() for p in probs], topk, b)
        best = sorted(range(len(found)), key=lambda c: -found[c][0])[: n - 1]
        assert selected[b].tolist() == sorted(best)
        assert torch.equal(draft_tokens[b], ids[b][selected[b]])
        nodes = {-1: 0} | {c: i for i, c in enumerate(sorted(best), start=1)}
        paths = [[0]]
        for c in sorted(best):
            paths.append([*paths[nodes[found[c][1]]], nodes[c]])
        assert [p[-2] if len(p) > 1 else -1 for p in paths] == tree.parent[b].tolist()
        assert [set(row.nonzero().flatten().tolist()) for row in tree.ancestors[b]] == [
            set(p) for p in paths
        ]
        positions = tree.positions.view(bs, n)[b].tolist()
        assert positions == [int(seq_lens[b]) + len(p) - 1 for p in paths]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_links_lead_back_to_the_parents(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    parent = [-1] + [data.draw(st.integers(0, i - 1)) for i in range(1, n)]
    table = torch.tensor([parent, parent])
    next_token, next_sibling = links_from_parents(table)
    assert torch.equal(parents_from_links(next_token, next_sibling), table)
    for p in range(n):
        child, children = int(next_token[0, p]), []
        while child != -1:
            children.append(child)
            child = int(next_sibling[0, child])
        assert children == [i for i in range(n) if parent[i] == p]


@pytest.mark.parametrize(("topk", "steps", "n"), [(2, 2, 3), (2, 2, 4), (4, 2, 4), (4, 3, 8)])
def test_a_child_as_likely_as_its_parent_is_never_taken_alone(
    topk: int, steps: int, n: int
) -> None:
    probs, tokens = draft(3, topk, steps, 0)
    certain = [probs[0], *(torch.ones_like(p) for p in probs[1:])]
    scores, ids, parent_list = expand_beams(certain, tokens)
    selected, _ = organize_draft_results(scores, ids, n)
    naive_build_tree(
        parent_list, selected, torch.arange(3), topk=topk, num_steps=steps, num_draft_tokens=n
    )


def build(n: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    scores, ids, parent_list = expand_beams(*draft(2, 2, 3, 1))
    return parent_list, organize_draft_results(scores, ids, n)[0], torch.tensor([4, 0])


def test_the_three_layouts_say_the_same() -> None:
    parent_list, selected, seq_lens = build()
    tree = naive_build_tree(
        parent_list, selected, seq_lens, topk=2, num_steps=3, num_draft_tokens=5
    )
    qlen = tree_mask(tree, seq_lens, TreeMaskMode.QLEN_ONLY).view(2, 5, 5)
    full = tree_mask(tree, seq_lens, TreeMaskMode.FULL_MASK)
    packed = tree_mask(tree, seq_lens, TreeMaskMode.QLEN_ONLY_BITPACKING).view(2, 5)
    assert full.numel() == 5 * int(seq_lens.sum()) + 2 * 25
    first = full[: 5 * 9].view(5, 9)
    assert bool(first[:, :4].all())
    assert torch.equal(first[:, 4:], qlen[0])
    assert torch.equal(full[5 * 9 :].view(5, 5), qlen[1])
    for b in range(2):
        for i in range(5):
            bits = [(int(packed[b, i]) >> j) & 1 for j in range(5)]
            assert bits == qlen[b, i].int().tolist()


@pytest.mark.parametrize(
    ("n", "dtype"), [(1, "uint8"), (8, "uint8"), (9, "uint16"), (17, "uint32"), (32, "uint32")]
)
def test_bit_packing_takes_the_smallest_integer_that_holds_the_nodes(n: int, dtype: str) -> None:
    parent_list, selected = topk1_chain_tables(1, n - 1, n)
    tree = naive_build_tree(
        parent_list, selected, torch.zeros(1).long(), topk=1, num_steps=n - 1, num_draft_tokens=n
    )
    packed = tree_mask(tree, torch.zeros(1), TreeMaskMode.QLEN_ONLY_BITPACKING)
    assert packed.dtype == getattr(torch, dtype)
    assert packed.tolist() == [2 ** (i + 1) - 1 for i in range(n)]


def test_more_than_32_nodes_cannot_be_packed() -> None:
    parent_list, selected = topk1_chain_tables(1, 32, 33)
    tree = naive_build_tree(
        parent_list, selected, torch.zeros(1).long(), topk=1, num_steps=32, num_draft_tokens=33
    )
    with pytest.raises(IndexError, match=r"list index out of range"):
        tree_mask(tree, torch.zeros(1), TreeMaskMode.QLEN_ONLY_BITPACKING)
    with pytest.raises(NotImplementedError, match=r"^Invalid tree mask: tree_mask_mode=7$"):
        tree_mask(tree, torch.zeros(1), 7)


def test_tables_that_a_kernel_would_misread_are_refused() -> None:
    parent_list, selected, seq_lens = build()
    shape = {"topk": 2, "num_steps": 3, "num_draft_tokens": 5}
    with pytest.raises(RuntimeError, match=r"^parent_list must be contiguous$"):
        naive_build_tree(parent_list[:1].expand(2, -1), selected, seq_lens, **shape)
    with pytest.raises(RuntimeError, match=r"^selected_index must be int64$"):
        naive_build_tree(parent_list, selected.int(), seq_lens, **shape)
    with pytest.raises(ValueError, match=r"^parent_list has shape"):
        naive_build_tree(parent_list[:, :3].contiguous(), selected, seq_lens, **shape)


def test_an_orphan_is_refused() -> None:
    parent_list = torch.tensor([[-1, 0, 1]])
    with pytest.raises(ValueError, match="candidate 2 is selected without its parent 0"):
        naive_build_tree(
            parent_list,
            torch.tensor([[1, 2]]),
            torch.tensor([3]),
            topk=2,
            num_steps=2,
            num_draft_tokens=3,
        )


def test_more_nodes_than_candidates_are_refused() -> None:
    scores, ids, _ = expand_beams(*draft(1, 2, 2, 0))
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        organize_draft_results(scores, ids, 8)


def test_a_chain_has_steps_plus_one_nodes() -> None:
    with pytest.raises(AssertionError, match=r"speculative_num_steps \+ 1, got 8 and 3$"):
        topk1_chain_tables(2, 3, 8)
    scores, ids, parent_list = expand_beams(*draft(2, 1, 3, 0))
    table, selected = topk1_chain_tables(2, 3, 4)
    assert torch.equal(table, parent_list)
    assert torch.equal(selected, organize_draft_results(scores, ids, 4)[0])


def test_each_draft_step_writes_its_own_slots() -> None:
    slots = per_step_draft_out_cache_loc(torch.arange(12), 2, 2, 3)
    assert slots.tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    with pytest.raises(AssertionError, match=r"batch_size \* topk \* num_steps = 2\*2\*2=8$"):
        per_step_draft_out_cache_loc(torch.arange(7), 2, 2, 2)
