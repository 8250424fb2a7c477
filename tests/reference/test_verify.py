"""Recurrent verify of GDN and KDA, its scratch and its commit, against loops in numpy float64."""

# ruff: noqa: N803, N806  # the papers' symbols

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from reproducers.reference.gates import naive_beta, naive_decay_gate
from reproducers.reference.gdn import gdn_target_verify
from reproducers.reference.kda import kda_target_verify
from reproducers.reference.recurrent import naive_recurrent_verify
from reproducers.reference.scatter import (
    chain_last_step,
    commit_states_after_verify,
    naive_mamba_state_scatter_with_mask,
)
from tests.reference.cases import Verify, nan_scratch, relative, verify_case, verify_cases


def by_hand(case: Verify, parent: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Outputs `[bs * T, HV, V]` and states `[bs, T, HV, V, K]`, one head at a time."""
    q, k, v, g, beta = (x.numpy() for x in case.rows)
    pool = case.pool.numpy()
    _, HV, V, K = pool.shape
    group = HV // q.shape[1]
    out = np.zeros(v.shape)
    states = np.zeros((case.bs, case.T, HV, V, K))
    for b, slot in enumerate(case.cache_indices.tolist()):
        for t in range(case.T):
            row, above = b * case.T + t, t - 1 if parent is None else parent[b, t]
            for h in range(HV):
                S = (
                    (pool[slot, h] if slot >= 0 else 0.0 * pool[0, h])
                    if above < 0
                    else states[b, above, h]
                )
                kn = k[row, h // group] / np.sqrt((k[row, h // group] ** 2).sum() + 1e-6)
                qn = q[row, h // group] / np.sqrt((q[row, h // group] ** 2).sum() + 1e-6) * K**-0.5
                decayed = S * np.exp(g[row, h])
                u = beta[row, h] * (v[row, h] - decayed @ kn)
                states[b, t, h] = decayed + np.outer(u, kn)
                out[row, h] = states[b, t, h] @ qn
    return out, states


def run(case: Verify, scratch: torch.Tensor | None, *, tree: bool, **change: Any) -> torch.Tensor:
    return naive_recurrent_verify(
        *case.rows,
        ssm_states=case.pool,
        cache_indices=case.cache_indices,
        draft_token_num=case.T,
        intermediate_ssm=scratch,
        retrieve_parent_token=case.parent if tree else None,
        **change,
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(verify_cases)
def test_outputs_and_scratch_are_those_of_the_recurrence(case: Verify) -> None:
    for tree in (False, True):
        scratch, pool = nan_scratch(case), case.pool.clone()
        out = run(case, scratch, tree=tree)
        expected, states = by_hand(case, case.parent.numpy() if tree else None)
        np.testing.assert_allclose(out, expected, atol=1e-13)
        np.testing.assert_allclose(scratch[: case.bs], states, atol=1e-13)
        assert bool(scratch[case.bs :].isnan().all()), "rows of no request stay untouched"
        assert torch.equal(case.pool, pool), "verify never writes the committed pool"


def test_float32_stays_within_rounding_of_float64() -> None:
    case = verify_case(5, T=9, K=33, V=17)
    exact, single = nan_scratch(case), nan_scratch(case, dtype=torch.float32)
    out, got = run(case, exact, tree=True), run(case.to(torch.float32), single, tree=True)
    assert got.dtype == torch.float32
    assert relative(got, out) < 1e-6
    assert relative(single[: case.bs], exact[: case.bs]) < 1e-6


def test_a_tree_reads_its_parents_back_in_the_scratchs_dtype() -> None:
    case = verify_case(6, T=6)
    exact = run(case, nan_scratch(case), tree=True)
    coarse = nan_scratch(case, dtype=torch.bfloat16)
    assert 1e-4 < relative(run(case, coarse, tree=True), exact) < 3e-2
    chain = run(case, nan_scratch(case, dtype=torch.bfloat16), tree=False)
    assert torch.equal(chain, run(case, nan_scratch(case), tree=False)), "a chain does not"


def test_requests_go_to_the_rows_of_the_map_and_beyond_it_to_the_padding_row() -> None:
    case = verify_case(7, bs=3)
    scratch, mapped = nan_scratch(case), nan_scratch(case)
    run(case, scratch, tree=False)
    run(case, mapped, tree=False, intermediate_state_indices=torch.tensor([4, 0, 99]))
    assert torch.equal(mapped[[4, 0, 6]], scratch[:3])


@pytest.mark.parametrize("tree", [False, True])
def test_the_committed_state_is_the_last_accepted_nodes(tree: bool) -> None:  # noqa: FBT001  # a parameter of the test
    case = verify_case(8, bs=4, T=4, slots=9, padding=True)
    scratch = nan_scratch(case)
    run(case, scratch, tree=tree)
    pool, before = case.pool.clone(), case.pool.clone()
    track = torch.tensor([7, 8, 7, 8])
    steps = chain_last_step(torch.tensor([3, 4, 0, 1]))
    free = [s for s in range(9) if s not in case.cache_indices.tolist()]
    track = torch.tensor([free[0], free[1], free[0], free[1]])
    commit_states_after_verify(
        pool,
        scratch,
        case.cache_indices,
        steps,
        mamba_track_indices=track,
        mamba_steps_to_track=torch.tensor([-1, 2, -1, -1]),
    )
    slots = case.cache_indices.tolist()
    before[slots[1]], before[slots[3]] = scratch[1, 3], scratch[3, 0]
    before[free[1]] = scratch[1, 2]
    assert torch.equal(pool, before), "padding and nothing accepted commit nothing"


@pytest.mark.parametrize("bound", [None, -5.0])
@pytest.mark.parametrize("kda", [False, True])
def test_gates_are_the_formulas(kda: bool, bound: float | None) -> None:  # noqa: FBT001  # a parameter of the test
    gen = torch.Generator().manual_seed(1)
    shape = (6, 3, 4) if kda else (6, 3)
    a = torch.randn(*shape, generator=gen, dtype=torch.float64) * 15
    A_log = torch.randn(3, generator=gen, dtype=torch.float64)
    dt_bias = torch.randn(*shape[1:], generator=gen, dtype=torch.float64)
    x = (a + dt_bias).numpy()
    rate = np.exp(A_log.numpy()).reshape((3, 1) if kda else (3,))
    soft = np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))
    expected = -rate * soft if bound is None else bound / (1 + np.exp(-rate * x))
    got = naive_decay_gate(a, A_log, dt_bias, lower_bound=bound)
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    np.testing.assert_allclose(naive_beta(a), 1 / (1 + np.exp(-a.numpy())), rtol=1e-13)


def layer(kda: bool, T: int = 3, **change: Any) -> dict[str, Any]:  # noqa: FBT001  # which layer
    """Arguments of a layer's target verify."""
    case = verify_case(9, T=T, kda=kda)
    HV, K = case.v.shape[1], case.k.shape[2]
    gate = (HV, K) if kda else (HV,)
    given_layer = {
        "q": case.q,
        "k": case.k,
        "v": case.v,
        "a": torch.zeros(case.bs * T, *gate, dtype=torch.float64),
        "b": torch.zeros(case.bs * T, HV, dtype=torch.float64),
        "A_log": torch.zeros(HV, dtype=torch.float64),
        "dt_bias": torch.zeros(gate, dtype=torch.float64),
        "ssm_states": case.pool,
        "cache_indices": case.cache_indices,
        "draft_token_num": T,
        "intermediate_ssm": nan_scratch(case),
    }
    return given_layer | change


def test_kda_takes_the_engines_flat_gates() -> None:
    given_layer = layer(kda=True)
    out = kda_target_verify(**given_layer)
    flat = {name: given_layer[name].flatten(-2) for name in ("a", "dt_bias")}
    assert torch.equal(kda_target_verify(**(given_layer | flat)), out)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"intermediate_ssm": torch.zeros(7, 2, 4, 5, 7)},
            RuntimeError,
            r"^KDA verify needs 3 scratch steps, but intermediate_ssm only has 2\.$",
        ),
        (
            {"intermediate_ssm": None},
            RuntimeError,
            r"^KDA target_verify requires a speculative mamba cache \(MambaPool\.Spec",
        ),
        (
            {"ssm_states": torch.zeros(4, 5, 7)},
            ValueError,
            r"^recurrent_kda needs a \[N, HV, V, K\] state pool; got shape \(4, 5, 7\)$",
        ),
        ({"scale": -1.0}, AssertionError, "^scale must be positive$"),
    ],
)
def test_kda_refuses_with_the_engines_message(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kda_target_verify(**layer(kda=True, **change))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"intermediate_ssm": None},
            AssertionError,
            r"^recurrent target_verify fallback requires intermediate_ssm, which is not alloc",
        ),
        (
            {"intermediate_ssm": torch.zeros(7, 2, 4, 5, 7)},
            ValueError,
            "^Verify needs 3 scratch steps, but intermediate_ssm only has 2.$",
        ),
    ],
)
def test_gdn_refuses_with_a_message(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        gdn_target_verify(**layer(kda=False, **change))


def test_a_tree_without_a_scratch_is_refused_instead_of_run_as_a_chain() -> None:
    with pytest.raises(ValueError, match=r"^A draft tree is verified through its scratch"):
        run(verify_case(), None, tree=True)


@pytest.mark.parametrize(
    ("dst", "src", "message"),
    [
        (
            (2, 3, 4),
            (1, 2, 2, 4),
            r"Layer dimension mismatch: dst.shape\[0\]=2 vs src.shape\[0\]=1",
        ),
        ((1, 3, 4), (1, 2, 2, 5), "Trailing dims mismatch"),
        ((3,), (1, 2, 2), "Unexpected tensor ranks: dst.ndim=1 src.ndim=3"),
    ],
)
def test_the_commit_refuses_shapes_with_the_engines_message(
    dst: tuple[int, ...], src: tuple[int, ...], message: str
) -> None:
    index = torch.tensor([0, 1])
    with pytest.raises(ValueError, match=message):
        naive_mamba_state_scatter_with_mask(torch.zeros(dst), torch.zeros(src), index, index)


def test_the_commit_refuses_indices_of_different_lengths() -> None:
    dst, src = torch.zeros(1, 3, 4), torch.zeros(1, 2, 2, 4)
    with pytest.raises(ValueError, match="indices length mismatch"):
        naive_mamba_state_scatter_with_mask(dst, src, torch.tensor([0]), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="indices must be 1D"):
        naive_mamba_state_scatter_with_mask(dst, src, torch.zeros(1, 1), torch.tensor([0]))
    naive_mamba_state_scatter_with_mask(dst[:0], src, torch.zeros(0), torch.zeros(0))
