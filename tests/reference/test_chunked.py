"""The chunked form equals the recurrence: on chains as engines build it, on trees along paths."""

import pytest
import torch
from hypothesis import given, settings

from reproducers.reference.chunked import naive_chunk_verify, path_log_decay
from reproducers.reference.recurrent import naive_recurrent_verify
from tests.reference.cases import Verify, nan_scratch, relative, verify_case, verify_cases


def recurrent(case: Verify, *, tree: bool) -> tuple[torch.Tensor, torch.Tensor]:
    scratch = nan_scratch(case)
    out = naive_recurrent_verify(
        *case.rows,
        ssm_states=case.pool,
        cache_indices=case.cache_indices,
        draft_token_num=case.T,
        intermediate_ssm=scratch,
        retrieve_parent_token=case.parent if tree else None,
    )
    return out, scratch


def start(case: Verify, b: int) -> torch.Tensor:
    slot = int(case.cache_indices[b])
    return case.pool[slot] if slot >= 0 else torch.zeros_like(case.pool[0])


@settings(max_examples=50, deadline=None, derandomize=True)
@given(verify_cases)
def test_chunked_equals_recurrent_on_chains_and_along_paths_on_trees(case: Verify) -> None:
    for tree in (False, True):
        expected, scratch = recurrent(case, tree=tree)
        for b in range(case.bs):
            parent = case.parent[b] if tree else None
            got = naive_chunk_verify(*case.request(b), initial_state=start(case, b), parent=parent)
            assert relative(got.out, expected[b * case.T : (b + 1) * case.T]) < 1e-12
            assert relative(got.final_state, scratch[b, -1]) < 1e-12


@settings(max_examples=20, deadline=None, derandomize=True)
@given(verify_cases)
def test_a_chains_parent_table_gives_the_chain(case: Verify) -> None:
    chain = torch.arange(-1, case.T - 1)
    for b in range(case.bs):
        one = naive_chunk_verify(*case.request(b), initial_state=start(case, b))
        other = naive_chunk_verify(*case.request(b), initial_state=start(case, b), parent=chain)
        assert all(torch.equal(x, y) for x, y in zip(one, other, strict=True))


def test_siblings_are_ancestors_to_the_chain_form_and_that_is_far_off() -> None:
    case = verify_case(2, bs=1, T=4, K=16, V=16, strength=0.2)
    fork = torch.tensor([-1, 0, 0, 1])
    rows = case.request(0)
    chain = naive_chunk_verify(*rows, initial_state=case.pool[0])
    tree = naive_chunk_verify(*rows, initial_state=case.pool[0], parent=fork)
    assert torch.equal(chain.out[:2], tree.out[:2]), "the all-first-child prefix is exact"
    assert float((chain.out - tree.out).norm() / tree.out.norm()) > 0.05


def test_strong_gates_lose_no_digits_in_float32() -> None:
    case = verify_case(3, bs=1, T=40, K=8, V=8, strength=8.0)
    exact = naive_chunk_verify(*case.request(0), initial_state=case.pool[0])
    single = case.to(torch.float32)
    got = naive_chunk_verify(*single.request(0), initial_state=single.pool[0])
    assert relative(got.out, exact.out) < 2e-6
    assert relative(got.final_state, exact.final_state) < 2e-6


def test_decay_runs_along_the_path_only() -> None:
    g = torch.tensor([-1.0, -2.0, -4.0, -8.0]).view(4, 1, 1)
    decay, total = path_log_decay(g, torch.tensor([-1, 0, 0, 1]))
    assert total.flatten().tolist() == [-1, -3, -5, -11]
    inf = float("-inf")
    expected = [[0, inf, inf, inf], [-2, 0, inf, inf], [-4, inf, 0, inf], [-10, -8, inf, 0]]
    assert decay.view(4, 4).tolist() == expected


@pytest.mark.parametrize("kda", [False, True])
def test_no_rows_leave_the_state_as_it_is(kda: bool) -> None:  # noqa: FBT001  # a parameter of the test
    case = verify_case(4, bs=1, T=1, kda=kda)
    got = naive_chunk_verify(*(x[:0] for x in case.rows), initial_state=case.pool[0])
    assert got.out.shape == (0, *case.v.shape[1:])
    assert torch.equal(got.final_state, case.pool[0])
