"""Graph input buffers: what a replay reads, and which batches may replay at all."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.buffers import (
    GraphBuffers,
    GraphSlot,
    PaddingPolicy,
    can_run_graph,
    draft_tokens_per_request,
    pad_to_bucket,
)

BUCKETS = [1, 2, 4, 8]


def batch(bs: int, width: int, first: int = 1) -> dict[str, torch.Tensor]:
    tokens, requests = torch.arange(bs * width) + first, torch.arange(bs) + first
    return {
        "input_ids": tokens,
        "positions": tokens * 2,
        "out_cache_loc": tokens * 3,
        "req_pool_indices": requests,
        "seq_lens": requests + 50,
    }


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 4), st.lists(st.integers(0, 8), min_size=1, max_size=8))
def test_a_replay_reads_the_batch_then_reserved_slots_then_nothing_stale_but_tokens(
    width: int, sizes: list[int]
) -> None:
    graph = GraphBuffers(max_bs=8, num_tokens_per_req=width, seq_len_fill_value=5)
    tokens = [0] * (8 * width)
    for number, bs in enumerate(sizes):
        given_batch = batch(bs, width, first=number * 1000 + 1)
        padded = pad_to_bucket(bs, BUCKETS)
        view = graph.fill_from(given_batch, padded_bs=padded)
        tokens[: bs * width] = given_batch["input_ids"].tolist()
        assert view["input_ids"].tolist() == tokens[: padded * width]
        for name in ("positions", "out_cache_loc"):
            tail = [0] * ((padded - bs) * width)
            assert view[name].tolist() == given_batch[name].tolist() + tail
        zeros = [0] * (padded - bs)
        assert view["req_pool_indices"].tolist() == given_batch["req_pool_indices"].tolist() + zeros
        assert view["seq_lens"].tolist() == given_batch["seq_lens"].tolist() + [5] * (padded - bs)


def test_buffers_are_views_of_one_storage_and_sized_for_the_widest_batch() -> None:
    graph = GraphBuffers(max_bs=8, num_tokens_per_req=4, seq_len_fill_value=1)
    one = graph.fill_from(batch(2, 4), padded_bs=2)
    two = graph.fill_from(batch(8, 4), padded_bs=8)
    assert one["input_ids"].data_ptr() == two["input_ids"].data_ptr()
    assert two["input_ids"].shape == (32,)
    assert graph.custom_mask_numel == (8 * 1 + 8 * 4) * 4


def test_hooks_run_last() -> None:
    graph = GraphBuffers(max_bs=2, num_tokens_per_req=1)
    view = graph.fill_from(
        batch(1, 1), padded_bs=1, post_fill=lambda slots: slots["positions"].required().fill_(9)
    )
    assert view["positions"].tolist() == [9]


def test_a_batch_of_another_width_does_not_fit() -> None:
    graph = GraphBuffers(max_bs=4, num_tokens_per_req=4)
    wrong = batch(3, 4) | {"input_ids": torch.arange(3)}
    with pytest.raises(
        RuntimeError, match=r"^The size of tensor a \(12\) must match the size of te"
    ):
        graph.fill_from(wrong, padded_bs=4)


@pytest.mark.parametrize(
    ("bs", "width", "admitted"),
    [(8, 4, True), (8, -1, True), (8, None, True), (8, 3, False), (9, 4, False), (8, 0, True)],
)
def test_a_graph_takes_its_own_width_and_an_unset_one(
    bs: int,
    width: int | None,
    admitted: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    assert can_run_graph(bs, width, max_bs=8, captured=4) == admitted


def test_a_batch_beyond_the_largest_bucket_is_refused() -> None:
    assert [pad_to_bucket(n, BUCKETS) for n in (0, 1, 3, 8)] == [1, 1, 4, 8]
    with pytest.raises(
        AssertionError, match=r"^size 9 exceeds max captured bucket 8; can_run_graph"
    ):
        pad_to_bucket(9, BUCKETS)


def test_tokens_are_a_multiple_of_requests() -> None:
    assert draft_tokens_per_request(3, 12) == 4
    with pytest.raises(AssertionError, match=r"^max_num_tokens=8 must be divisible by max_bs=3$"):
        draft_tokens_per_request(3, 8)


def empty_graph() -> GraphBuffers:
    return GraphBuffers(max_bs=2, num_tokens_per_req=3)


def adopt(**change: Any) -> GraphBuffers:
    source = {n: s.required().clone() for n, s in empty_graph().slots.items()} | change
    return GraphBuffers(
        max_bs=2,
        num_tokens_per_req=3,
        source={n: x for n, x in source.items() if x is not None},
    )


def test_complete_buffers_are_adopted() -> None:
    own = torch.zeros(6, dtype=torch.int64)
    assert adopt(positions=own).slots["positions"].buffer is own


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: GraphSlot(name="x", axis="rows"),
            ValueError,
            "^GraphSlot 'x': axis must be one of 'bs'/'tokens'/'none', got 'rows'$",
        ),
        (
            lambda: empty_graph().register_slot(GraphSlot(name="positions")),
            ValueError,
            "^GraphSlot 'positions' already registered; use",
        ),
        (
            lambda: adopt(positions=torch.zeros(5, dtype=torch.int64)),
            ValueError,
            r"^bind tensor for slot 'positions' has shape \(5,\), expected \(6,\)\.$",
        ),
        (
            lambda: adopt(positions=torch.zeros(6)),
            ValueError,
            r"^bind tensor for slot 'positions' has dtype torch.float32, expected torch.int64\.$",
        ),
        (
            lambda: adopt(positions=None),
            ValueError,
            "^source is missing buffer 'positions' required by the decode registry; cannot adopt.$",
        ),
        (
            lambda: GraphSlot(name="x").required(),
            RuntimeError,
            "^GraphSlot 'x': buffer not allocated$",
        ),
        (
            lambda: GraphSlot(name="x", padding_policy=PaddingPolicy.FILL_SENTINEL).reset_padding(
                0, 1
            ),
            RuntimeError,
            "^GraphSlot 'x': FILL_SENTINEL requires pad_value$",
        ),
    ],
)
def test_the_registry_refuses_with_the_engines_message(
    call: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
