"""Ragged verify layouts: every request verifies its anchor, and tiers hold the tokens."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.ragged import (
    RaggedVerifyLayout,
    build_capture_verify_lens,
    round_up_grid,
)


def layout(lens: list[int], **change: Any) -> RaggedVerifyLayout:
    given_layout: dict[str, Any] = {
        "verify_lens_cpu": lens,
        "total_verify_tokens": sum(lens),
        "graph_num_tokens": 16,
    }
    return RaggedVerifyLayout(**(given_layout | change))


def test_a_layout_takes_the_smallest_tier_that_holds_its_tokens() -> None:
    got = RaggedVerifyLayout.from_verify_lens([1, 4, 2], [4, 8, 16], cap=4)
    assert (got.total_verify_tokens, got.graph_num_tokens) == (7, 8)
    assert got.extend_start_loc().tolist() == [0, 1, 5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layout([0, 2]), r"verify the anchor \(verify_len >= 1\), got \[0, 2\]$"),
        (lambda: layout([5], cap=4), r"^capped layout has a row exceeding cap=4: \[5\]$"),
        (
            lambda: layout([2], total_verify_tokens=3),
            r"^total_verify_tokens 3 != sum\(verify_lens_cpu\) 2$",
        ),
        (
            lambda: layout([9, 8]),
            "^total_verify_tokens 17 exceeds graph_num_tokens 16$",
        ),
        (lambda: layout([]), "^RaggedVerifyLayout requires at least one request$"),
        (lambda: round_up_grid(9, [4, 8]), "^total 9 exceeds max grid tier 8; the caller must"),
        (lambda: round_up_grid(1, []), "^round_up_grid requires a non-empty grid$"),
        (
            lambda: build_capture_verify_lens(num_tokens=13, num_slots=3, num_draft_tokens=4),
            "^capture layout cannot pack num_tokens=13 into 3 rows of at most 4 tokens$",
        ),
        (
            lambda: build_capture_verify_lens(num_tokens=2, num_slots=3, num_draft_tokens=4),
            "^capture layout needs 1 <= num_slots <= num_tokens, got num_slots=3, num_tokens=2$",
        ),
    ],
)
def test_what_no_graph_can_hold_is_refused_with_the_engines_message(
    call: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 8), st.integers(1, 6), st.data())
def test_capture_lengths_fill_the_tier_evenly(
    num_slots: int, num_draft_tokens: int, data: st.DataObject
) -> None:
    num_tokens = data.draw(st.integers(num_slots, num_slots * num_draft_tokens))
    lens = build_capture_verify_lens(
        num_tokens=num_tokens, num_slots=num_slots, num_draft_tokens=num_draft_tokens
    )
    assert sum(lens) == num_tokens
    assert len(lens) == num_slots
    assert max(lens) - min(lens) <= 1
    assert max(lens) <= num_draft_tokens
