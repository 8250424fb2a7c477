"""Kimi delta attention (KDA) target verify: one decay per key channel."""

from torch import Tensor

from reproducers.reference.gates import naive_beta, naive_decay_gate
from reproducers.reference.recurrent import naive_recurrent_verify
from reproducers.reference.replay import ReplayWindow, naive_replay_verify


def kda_target_verify(
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
        a: `[bs * T, HV * K]` or `[bs * T, HV, K]`.
        b: `[bs * T, HV]`.
        A_log: `[HV]`, or any shape of HV elements.
        dt_bias: `[HV * K]` or `[HV, K]`.
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
        RuntimeError: neither a scratch nor a window, or fewer scratch steps than T.
        ValueError: a state pool that is not `[slots, HV, V, K]`.
        AssertionError: a tree with a window. The engine has that check for GDN only and runs the
            chain here.
    """
    if ssm_states.dim() != 4:  # slot, head, value, key
        raise ValueError(
            f"recurrent_kda needs a [N, HV, V, K] state pool; got shape {tuple(ssm_states.shape)}"
        )
    HV, K = v.shape[-2], k.shape[-1]
    g = naive_decay_gate(
        a.reshape(-1, HV, K), A_log.reshape(HV), dt_bias.reshape(HV, K), lower_bound=lower_bound
    )
    beta = naive_beta(b)
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
    if intermediate_ssm is None:
        raise RuntimeError(
            "KDA target_verify requires a speculative mamba cache "
            "(MambaPool.SpeculativeState); none found."
        )
    scratch_steps = intermediate_ssm.shape[1]
    if draft_token_num > scratch_steps:
        raise RuntimeError(
            f"KDA verify needs {draft_token_num} scratch steps, "
            f"but intermediate_ssm only has {scratch_steps}."
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
