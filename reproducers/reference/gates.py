"""Decay and write gates of the two linear attentions, and the normalisation of q and k.

GDN decays a head by one number, KDA each key channel by its own: `g` is `[..., HV]` for GDN and
`[..., HV, K]` for KDA, always as a logarithm (the state is multiplied by exp(g)).
"""

import torch
from torch import Tensor
from torch.nn import functional

L2NORM_EPS = 1e-6
SOFTPLUS_THRESHOLD = 20.0


def naive_decay_gate(
    a: Tensor, A_log: Tensor, dt_bias: Tensor, *, lower_bound: float | None = None
) -> Tensor:
    """Log decay `-exp(A_log) * softplus(a + dt_bias)`, or the safe gate where bounded.

    Args:
        a: `[rows, HV]` for GDN, `[rows, HV, K]` for KDA.
        A_log: `[HV]`.
        dt_bias: `[HV]` for GDN, `[HV, K]` for KDA.
        lower_bound: safe gate `lower_bound * sigmoid(exp(A_log) * (a + dt_bias))`; negative.

    Returns:
        Shape and dtype of `a`.
    """
    x = a + dt_bias
    rate = A_log.exp().view(-1, *[1] * (a.dim() - 2))
    if lower_bound is not None:
        return lower_bound * torch.sigmoid(rate * x)
    return -rate * functional.softplus(x, threshold=SOFTPLUS_THRESHOLD)


def naive_beta(b: Tensor) -> Tensor:
    """Write strength `sigmoid(b)`; `[rows, HV]`."""
    return torch.sigmoid(b)


def l2norm(x: Tensor) -> Tensor:
    """`x / sqrt(sum x^2 + 1e-6)` over the last axis."""
    return x / (x.square().sum(dim=-1, keepdim=True) + L2NORM_EPS).sqrt()


def per_key_channel(g: Tensor, v: Tensor) -> Tensor:
    """A gate that multiplies `[..., HV, K]`: GDN's `[..., HV]` becomes `[..., HV, 1]`."""
    return g if g.dim() == v.dim() else g.unsqueeze(-1)


def prepare_q(q: Tensor, num_v_heads: int, scale: float | None = None) -> Tensor:
    """Normalise and scale the query, one for each value head.

    Args:
        q: `[..., H, K]`.
        num_v_heads: HV, a multiple of H.
        scale: K^-0.5 by default.

    Returns:
        `[..., HV, K]`.

    Raises:
        AssertionError: a scale that is not positive.
    """
    if scale is None:
        scale = q.shape[-1] ** -0.5
    else:
        assert scale > 0, "scale must be positive"
    return (l2norm(q) * scale).repeat_interleave(num_v_heads // q.shape[-2], dim=-2)


def prepare_k(k: Tensor, num_v_heads: int) -> Tensor:
    """Normalise the key, one for each value head: `[..., H, K]` to `[..., HV, K]`."""
    return l2norm(k).repeat_interleave(num_v_heads // k.shape[-2], dim=-2)
