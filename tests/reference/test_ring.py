"""The circular ring: any number of rounds equals the recurrence over all accepted tokens."""

# ruff: noqa: N806  # the papers' symbols

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.recurrent import naive_recurrent_verify
from reproducers.reference.ring import (
    ReplayRing,
    RingCursor,
    advance,
    check_ring_length,
    history_slots,
    window_slots,
)
from tests.reference.cases import relative, verify_case


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.booleans(), st.sampled_from([(8, 4), (16, 4), (8, 1)]), st.data())
def test_rounds_equal_the_recurrence_over_everything_accepted(
    seed: int,
    kda: bool,  # noqa: FBT001  # a parameter of the test
    sizes: tuple[int, int],
    data: st.DataObject,
) -> None:
    length, T = sizes
    first = verify_case(seed, bs=2, T=T, kda=kda, K=5, V=3, strength=0.3)
    truth, slots = first.pool.clone(), first.cache_indices
    ring = ReplayRing(
        first.pool,
        num_k_heads=2,
        length=length,
        max_spec=T,
        is_kda=kda,
        dtype=torch.float64,
    )
    for x in (ring.window.rawv, ring.window.rawk, ring.window.g, ring.window.beta):
        x.fill_(float("nan"))
    for number in range(9):
        case = verify_case(seed + number, bs=2, T=T, kda=kda, K=5, V=3, strength=0.3)
        scratch = truth.new_full((3, T, *truth.shape[1:]), float("nan"))
        expected = naive_recurrent_verify(
            *case.rows,
            ssm_states=truth,
            cache_indices=slots,
            draft_token_num=T,
            intermediate_ssm=scratch,
        )
        got = ring.verify(*case.rows, cache_indices=slots, draft_token_num=T)
        assert relative(got, expected) < 1e-12
        accepted = [data.draw(st.integers(0, T)) for _ in range(2)]
        ring.commit(slots, torch.tensor(accepted))
        for b, n in enumerate(accepted):
            if n:
                truth[slots[b]] = scratch[b, n - 1]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([(8, 4), (16, 4), (16, 5), (64, 7), (2, 1)]), st.data())
def test_a_window_always_fits_beside_the_history(
    sizes: tuple[int, int], data: st.DataObject
) -> None:
    length, max_spec = sizes
    cursor = RingCursor(is_flush=2 * max_spec > length)
    for _ in range(30):
        kept = [] if cursor.is_flush else history_slots(cursor, length)
        window = window_slots(cursor, max_spec, length)
        assert not set(kept) & set(window)
        assert cursor.write_pos + max_spec <= length
        accepted = data.draw(st.integers(0, max_spec))
        cursor = advance(cursor, accepted, length=length, max_spec=max_spec)
        assert window[:accepted] == history_slots(cursor, length)[cursor.write_pos - accepted :]


def test_a_flush_with_nothing_accepted_leaves_an_empty_history_at_the_old_base() -> None:
    assert advance(RingCursor(11, 9, True), 0, length=16, max_spec=4) == (0, 9, False)  # noqa: FBT003  # a cursor's third field
    assert advance(RingCursor(11, 9, True), 2, length=16, max_spec=4) == (2, 4, False)  # noqa: FBT003  # a cursor's third field


def test_padding_requests_touch_nothing() -> None:
    case = verify_case(1, bs=1, T=2)
    case.cache_indices[0] = -1
    ring = ReplayRing(
        case.pool.clone(),
        num_k_heads=2,
        length=4,
        max_spec=2,
        is_kda=True,
        dtype=torch.float64,
    )
    out = ring.verify(*case.rows, cache_indices=case.cache_indices, draft_token_num=2)
    ring.commit(case.cache_indices, torch.tensor([2]))
    assert not out.any()
    assert torch.equal(ring.ssm_states, case.pool)
    assert not ring.window.rawk.any()


def test_ring_lengths_are_refused_with_the_engines_messages() -> None:
    with pytest.raises(
        ValueError, match=r"^spec-verify ring length must be a power of two, got 12"
    ):
        check_ring_length(12, 4)
    with pytest.raises(ValueError, match=r"^spec-verify ring too small: 8 < 2 \* 5 \(early-flush "):
        check_ring_length(8, 5)
    check_ring_length(8, 4)


def test_a_verify_wider_than_the_ring_was_sized_for_is_refused() -> None:
    case = verify_case(2, bs=1, T=3)
    ring = ReplayRing(
        case.pool, num_k_heads=2, length=4, max_spec=2, is_kda=True, dtype=torch.float64
    )
    with pytest.raises(ValueError, match="sized for 2 rows a verify, got 3"):
        ring.verify(*case.rows, cache_indices=case.cache_indices, draft_token_num=3)
