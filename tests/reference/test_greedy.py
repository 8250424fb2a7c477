"""Greedy acceptance and commit steps, against a walk over parents instead of links."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.greedy import naive_verify_tree_greedy, verify_commit_step_indices
from reproducers.reference.tree import links_from_parents


def case(parents: list[list[int]], tokens: torch.Tensor, target: torch.Tensor, steps: int) -> Any:
    bs, n = tokens.shape
    parent = torch.tensor(parents, dtype=torch.int64).view(bs, n)
    next_token, next_sibling = links_from_parents(parent)
    return {
        "predicts": torch.zeros(bs * n, dtype=torch.int32),
        "accept_index": torch.full((bs, steps + 1), -1, dtype=torch.int32),
        "accept_token_num": torch.zeros(bs, dtype=torch.int32),
        "candidates": tokens,
        "retrieve_index": torch.arange(bs * n).view(bs, n),
        "retrieve_next_token": next_token,
        "retrieve_next_sibling": next_sibling,
        "target_predict": target,
    }


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_accepted_nodes_are_the_path_that_the_target_names(data: st.DataObject) -> None:
    bs, n, steps = (data.draw(st.integers(*r)) for r in ((0, 3), (1, 9), (0, 4)))
    numbers = st.integers(0, 3)  # few tokens, so that siblings share one and paths get long
    parents = [[-1] + [data.draw(st.integers(0, i - 1)) for i in range(1, n)] for _ in range(bs)]
    tokens, target = (
        torch.tensor(
            [[data.draw(numbers) for _ in range(n)] for _ in range(bs)], dtype=torch.int64
        ).view(bs, n)
        for _ in range(2)
    )
    given_case = case(parents, tokens, target, steps)
    naive_verify_tree_greedy(**given_case)
    for b in range(bs):
        path = [0]
        while len(path) <= steps:
            wanted = target[b, path[-1]]
            children = [i for i in range(n) if parents[b][i] == path[-1] and tokens[b, i] == wanted]
            if not children:
                break
            path.append(children[0])
        ids = [b * n + node for node in path]
        assert given_case["accept_index"][b].tolist() == ids + [-1] * (steps + 1 - len(path))
        assert given_case["accept_token_num"][b] == len(path) - 1
        expected = [int(target[b, i]) if i in path else 0 for i in range(n)]
        assert given_case["predicts"].view(bs, n)[b].tolist() == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [("accept_index", "int32"), ("predicts", "int32"), ("candidates", "int64")],
)
def test_dtypes_are_checked_with_the_operators_message(name: str, kind: str) -> None:
    given_case = case([[-1, 0]], torch.zeros(1, 2).long(), torch.zeros(1, 2).long(), 1)
    given_case[name] = given_case[name].float()
    with pytest.raises(RuntimeError, match=f"^{name} must be {kind}$"):
        naive_verify_tree_greedy(**given_case)


def test_layout_is_checked_with_the_operators_message() -> None:
    given_case = case([[-1, 0]], torch.zeros(1, 2).long(), torch.zeros(1, 2).long(), 1)
    given_case["target_predict"] = torch.zeros(2, 1).long().t().expand(2, 2)[:, :2]
    with pytest.raises(RuntimeError, match=r"^target_predict must be contiguous$"):
        naive_verify_tree_greedy(**given_case)


def test_the_committed_step_is_the_last_accepted_node() -> None:
    accept_index = torch.tensor([[0, 2, 5, -1], [6, -1, -1, -1]], dtype=torch.int32)
    last, track = verify_commit_step_indices(
        accept_index,
        torch.tensor([3, 1], dtype=torch.int32),
        torch.tensor([6, 20]),
        draft_token_num=6,
    )
    assert last.tolist() == [5, 0]
    assert track is None


@pytest.mark.parametrize(
    ("before", "accepted", "expected"),
    [(6, 3, 2), (7, 1, 0), (8, 3, -1), (5, 3, 5), (0, 3, -1), (15, 3, 0)],
)
def test_the_tracked_step_is_where_the_length_reaches_a_multiple(
    before: int, accepted: int, expected: int
) -> None:
    accept_index = torch.tensor([[0, 2, 5, -1]], dtype=torch.int32)
    _, track = verify_commit_step_indices(
        accept_index,
        torch.tensor([accepted]),
        torch.tensor([before]),
        draft_token_num=6,
        mamba_track_interval=8,
    )
    assert track is not None
    assert track.tolist() == [expected]


def test_no_accepted_token_is_refused_instead_of_read_from_the_last_column() -> None:
    with pytest.raises(ValueError, match="at least 1, got"):
        verify_commit_step_indices(
            torch.tensor([[0, 1, -1]]), torch.tensor([0]), torch.tensor([4]), draft_token_num=3
        )


def test_an_empty_batch_commits_nothing() -> None:
    empty = torch.zeros(0, dtype=torch.int64)
    last, _ = verify_commit_step_indices(empty.view(0, 3), empty, empty, draft_token_num=3)
    assert last.shape == (0,)
