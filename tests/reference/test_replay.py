"""ReplaySSM: the fold commits the bits that recurrent verify would have committed."""

# ruff: noqa: N806  # the papers' symbols

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reproducers.reference.gdn import gdn_target_verify
from reproducers.reference.kda import kda_target_verify
from reproducers.reference.recurrent import naive_recurrent_verify
from reproducers.reference.replay import ReplayWindow, fold_every_commit, naive_replay_verify
from reproducers.reference.scatter import chain_last_step, commit_states_after_verify
from tests.reference.cases import Verify, nan_scratch, relative, verify_case, verify_cases


def poisoned_window(case: Verify, length: int, dtype: torch.dtype | None = None) -> ReplayWindow:
    window = ReplayWindow.allocate(
        case.pool, case.k.shape[1], length, is_kda=case.is_kda, dtype=dtype or case.pool.dtype
    )
    for x in (window.rawv, window.rawk, window.g, window.beta):
        x.fill_(float("nan"))
    return window


def verify(case: Verify, window: ReplayWindow, **change: Any) -> torch.Tensor:
    return naive_replay_verify(
        *case.rows,
        ssm_states=case.pool,
        cache_indices=case.cache_indices,
        draft_token_num=case.T,
        window=window,
        **change,
    )


def recurrent(case: Verify, scratch: torch.Tensor) -> torch.Tensor:
    return naive_recurrent_verify(
        *case.rows,
        ssm_states=case.pool,
        cache_indices=case.cache_indices,
        draft_token_num=case.T,
        intermediate_ssm=scratch,
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(verify_cases, st.data())
def test_the_fold_commits_the_same_bits_as_the_recurrent_commit(
    case: Verify, data: st.DataObject
) -> None:
    case = case.to(data.draw(st.sampled_from([torch.float32, torch.float64])))
    accept_lens = torch.tensor(
        [data.draw(st.integers(0, case.T)) for _ in range(case.bs)], dtype=torch.int64
    )
    scratch, window = (
        nan_scratch(case),
        poisoned_window(case, case.T + data.draw(st.integers(0, 3))),
    )
    expected, got = recurrent(case, scratch), verify(case, window)
    assert relative(got, expected.double()) < (1e-12 if got.dtype == torch.float64 else 2e-5)
    track = [s for s in range(case.pool.shape[0]) if s not in case.cache_indices.tolist()]
    mamba_track_indices = torch.tensor(track[: case.bs], dtype=torch.int64)
    steps = torch.tensor([data.draw(st.integers(-1, case.T - 1)) for _ in range(case.bs)])
    steps = torch.where(steps < accept_lens, steps, -1).long() if case.bs else accept_lens
    padding = case.cache_indices < 0
    committed, folded = case.pool.clone(), case.pool.clone()
    commit_states_after_verify(
        committed,
        scratch,
        case.cache_indices,
        chain_last_step(accept_lens),
        mamba_track_indices=mamba_track_indices,
        mamba_steps_to_track=torch.where(padding, -1, steps),
    )
    fold_every_commit(
        folded,
        window,
        case.cache_indices,
        accept_lens,
        mamba_track_indices=mamba_track_indices,
        mamba_steps_to_track=steps,
    )
    assert torch.equal(folded, committed)


def test_bfloat16_activations_fold_to_the_same_bits() -> None:
    case = verify_case(3, bs=3, T=6, K=33, V=17).to(torch.float32)
    half = Verify(
        *(x.bfloat16() for x in case.rows[:3]),
        *case.rows[3:],
        case.pool,
        case.cache_indices,
        case.parent,
        case.T,
    )
    scratch, window = nan_scratch(half), poisoned_window(half, 8, torch.bfloat16)
    recurrent(half, scratch)
    verify(half, window)
    accept_lens = torch.tensor([6, 1, 4])
    committed, folded = half.pool.clone(), half.pool.clone()
    commit_states_after_verify(committed, scratch, half.cache_indices, accept_lens - 1)
    fold_every_commit(folded, window, half.cache_indices, accept_lens)
    assert torch.equal(folded, committed)
    assert not torch.equal(folded, half.pool)


def test_rows_beyond_the_window_are_not_stored() -> None:
    case = verify_case(4, T=5)
    window = poisoned_window(case, 3)
    verify(case, window)
    whole = poisoned_window(case, 5)
    verify(case, whole)
    slots = case.cache_indices
    assert torch.equal(window.rawk[slots], whole.rawk[slots][:, :, :3])
    accept = torch.tensor([3, 2])
    short, long = case.pool.clone(), case.pool.clone()
    fold_every_commit(short, window, slots, accept)
    fold_every_commit(long, whole, slots, accept)
    assert torch.equal(short, long)
    with pytest.raises(ValueError, match=r"\[4, 1\] exceed the replay window of 3 rows"):
        fold_every_commit(short, window, slots, torch.tensor([4, 1]))


def test_a_null_block_of_0_never_commits_slot_0() -> None:
    case = verify_case(5, bs=1, T=3)
    case.cache_indices[0] = 0
    window = poisoned_window(case, 3)
    verify(case, window)
    accept = torch.tensor([2])
    skipped, folded = case.pool.clone(), case.pool.clone()
    fold_every_commit(skipped, window, case.cache_indices, accept, null_block_id=0)
    fold_every_commit(folded, window, case.cache_indices, accept)
    assert torch.equal(skipped, case.pool)
    assert not torch.equal(folded, case.pool)


LINEAR = r"^ReplaySSM fold-every-commit supports a linear draft chain only \(topk <= 1\); EAGLE tre"


def test_a_tree_is_refused_on_the_replay_path_of_both_layers() -> None:
    for kda, target_verify in ((True, kda_target_verify), (False, gdn_target_verify)):
        case = verify_case(6, kda=kda)
        HV, K = case.v.shape[1], case.k.shape[2]
        gate = (HV, K) if kda else (HV,)
        with pytest.raises(AssertionError, match=LINEAR):
            target_verify(
                case.q,
                case.k,
                case.v,
                torch.zeros(case.bs * case.T, *gate, dtype=torch.float64),
                case.beta,
                A_log=torch.zeros(HV, dtype=torch.float64),
                dt_bias=torch.zeros(gate, dtype=torch.float64),
                ssm_states=case.pool,
                cache_indices=case.cache_indices,
                draft_token_num=case.T,
                replay_window=poisoned_window(case, case.T),
                retrieve_parent_token=case.parent,
            )


def test_a_window_of_the_other_gate_or_with_a_layer_dimension_is_refused() -> None:
    case = verify_case(7, kda=False)
    other = poisoned_window(verify_case(7, kda=True), 5)
    with pytest.raises(AssertionError, match=r"^cache_ring expects per-layer ring views$"):
        verify(case, other)
    own = poisoned_window(case, 5)
    layered = ReplayWindow(rawv=own.rawv[None], rawk=own.rawk, g=own.g, beta=own.beta)
    with pytest.raises(AssertionError, match=r"^cache_ring expects per-layer ring views$"):
        verify(case, layered)
