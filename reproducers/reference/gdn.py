"""Gated delta net (GDN) target verify: one decay per value head."""

from torch import Tensor

from reproducers.reference.gates import naive_beta, naive_decay_gate
from reproducers.reference.recurrent import naive_recurrent_verify
from reproducers.reference.replay import ReplayWindow, naive_replay_verify


def gdn_target_verify(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    a: Tensor,
    b: Tensor,
    *,
    A_log: Tensor,
    dt_bias: Tensor,
    ssm_states: Tensor,
    cache_indices: Tensor,
    draft_token_num: int,
    intermediate_ssm: Tensor | None = None,
    intermediate_state_indices: Tensor | None = None,
    retrieve_parent_token: Tensor | None = None,
    replay_window: ReplayWindow | None = None,
    lower_bound: float | None = None,
    scale: float | None = None,
) -> Tensor:
    """Outputs of all nodes; states into the scratch, or rows into the replay window.

    Args:
        q: `[bs * T, H, K]`.
        k: `[bs * T, H, K]`.
        v: `[bs * T, HV, V]`.
        a: `[bs * T, HV]`.
        b: `[bs * T, HV]`.
        A_log: `[HV]`.
        dt_bias: `[HV]`.
        ssm_states: `[slots, HV, V, K]`.
        cache_indices: `[bs]`, negative for padding.
        draft_token_num: T.
        intermediate_ssm: `[rows, steps, HV, V, K]`.
        intermediate_state_indices: `[bs]`, arange by default.
        retrieve_parent_token: `[bs, T]`, None for a chain.
        replay_window: take the ReplaySSM path.
        lower_bound: safe gate.
        scale: K^-0.5 by default.

    Returns:
        `[bs * T, HV, V]`.

    Raises:
        AssertionError: neither a scratch nor a window, or a tree with a window.
    """
    g, beta = naive_decay_gate(a, A_log, dt_bias, lower_bound=lower_bound), naive_beta(b)
    if replay_window is not None:
        return naive_replay_verify(
            q,
            k,
            v,
            g,
            beta,
            ssm_states=ssm_states,
            cache_indices=cache_indices,
            draft_token_num=draft_token_num,
            window=replay_window,
            retrieve_parent_token=retrieve_parent_token,
            scale=scale,
        )
    assert intermediate_ssm is not None, (
        "recurrent target_verify fallback requires intermediate_ssm, "
        "which is not allocated under --enable-linear-replayssm-spec"
    )
    return naive_recurrent_verify(
        q,
        k,
        v,
        g,
        beta,
        ssm_states=ssm_states,
        cache_indices=cache_indices,
        draft_token_num=draft_token_num,
        intermediate_ssm=intermediate_ssm,
        intermediate_state_indices=intermediate_state_indices,
        retrieve_parent_token=retrieve_parent_token,
        scale=scale,
    )
