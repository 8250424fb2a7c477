"""The wrapper of flashinfer's KDA verify kernel, the state pool it works on, and small batches."""

from types import SimpleNamespace
from typing import Any

from reproducers.upstream.subject import Subject

REQUESTS = 2
DRAFT = 4
"""Draft tokens a request."""
HEADS, DIM = 2, 32
"""Heads, and size of keys and of values."""
SLOTS = [3, 1]
"""Where the two requests keep their committed states."""


def recurrent_kda(
    *,
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    beta: Any,
    A_log: Any,
    dt_bias: Any,
    initial_state: Any,
    cu_seqlens: Any,
    ssm_state_indices: Any,
    **_options: Any,
) -> tuple[Any, None]:
    """Flashinfer's kernel in plain torch: the gated delta rule, one decay per key dimension.

    q, k: [1, T, H, K], v: [1, T, H, V], g: [1, T, H, K] raw gate, beta: [1, T, H], A_log: [H],
    dt_bias: [H * K]; initial_state: [slots, H, V, K], read at each sequence's first slot and
    updated in place at ssm_state_indices, [N] or [N, steps], after each token.
    """
    import torch
    from torch.nn.functional import normalize, softplus

    q, k, v, g, beta = (x[0].float() for x in (q, k, v, g, beta))
    q, k = normalize(q, dim=-1, eps=1e-6), normalize(k, dim=-1, eps=1e-6)
    decay = (-A_log.exp()[:, None] * softplus(g + dt_bias.view(g.shape[1:]))).exp()
    rows = ssm_state_indices.view(len(cu_seqlens) - 1, -1)
    out = torch.zeros_like(v)
    for n, row in enumerate(rows):
        state = initial_state[row[0]].float()  # [H, V, K]
        for step, t in enumerate(range(cu_seqlens[n], cu_seqlens[n + 1])):
            state = state * decay[t][:, None, :]
            delta = (v[t] - torch.einsum("hvk,hk->hv", state, k[t])) * beta[t][:, None]
            state = state + torch.einsum("hv,hk->hvk", delta, k[t])
            out[t] = torch.einsum("hvk,hk->hv", state, q[t]) * q.shape[-1] ** -0.5
            initial_state[row[step]] = state.to(initial_state.dtype)
    return out[None].to(torch.bfloat16), None


def kda_kernel(subject: Subject) -> Any:
    """The release's own FlashInferKDAKernel, built on a simulated SM100; None on the reference."""
    if subject.version is None:
        return None
    why = "the kernel needs compute capability 10"
    subject.substitute("flashinfer.kda_decode", "recurrent_kda", recurrent_kda, why=why)
    module = subject.load("sglang.srt.layers.attention.linear.kernels.kda_flashinfer")
    with subject.platform("sm100"):
        return module.FlashInferKDAKernel()


class OnThisDevice:
    """torch, except that `zeros` allocates on the given device whatever it is told."""

    def __init__(self, torch: Any, device: str) -> None:
        self.torch, self.device = torch, device

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def zeros(self, *args: Any, **options: Any) -> Any:
        """`torch.zeros` on the given device."""
        return self.torch.zeros(*args, **(options | {"device": self.device}))


def state_pool(subject: Subject, speculative_num_draft_tokens: int | None) -> Any:
    """One KDA layer of the release's own MambaPool: `temporal` and `intermediate_ssm`.

    On the reference two tensors of the same shapes.
    """
    if subject.version is None:
        torch, entry = subject.torch, (HEADS, DIM, DIM)
        rows = (REQUESTS + 1, speculative_num_draft_tokens)
        return SimpleNamespace(
            temporal=torch.zeros(5, *entry, device=subject.device),
            intermediate_ssm=torch.zeros(*rows, *entry, device=subject.device),
        )
    cls, options = mamba_pool(subject)
    pool = cls(**options, speculative_num_draft_tokens=speculative_num_draft_tokens)
    return pool.mamba_cache.at_layer_idx(0)


def mamba_pool(subject: Subject) -> tuple[Any, dict[str, Any]]:
    """The release's own MambaPool, and what it takes for one KDA layer beside the draft tokens."""
    pool = subject.load("sglang.srt.mem_cache.memory_pool")
    params = subject.load("sglang.srt.configs.mamba_utils")
    here = OnThisDevice(subject.torch, subject.device)
    if not isinstance(pool.torch, OnThisDevice):
        why = '0.5.16 to 0.5.19 write device="cuda" for the scratch buffer'
        subject.substitute(pool, "torch", here, why=why)
    shape = params.KimiLinearStateShape.create(
        tp_world_size=1, num_heads=HEADS, head_dim=DIM, num_k_heads=HEADS, head_k_dim=DIM
    )
    dtype = params.Mamba2StateDType(conv=here.bfloat16, temporal=here.bfloat16)
    return pool.MambaPool, {
        "size": 4,
        "spec_state_size": REQUESTS,
        "cache_params": params.KimiLinearCacheParams(shape=shape, layers=[0], dtype=dtype),
        "mamba_layer_ids": [0],
        "device": subject.device,
    }


def batch(subject: Subject, draft: int = DRAFT) -> dict[str, Any]:
    """Random inputs of `target_verify` for two requests, their draft tokens one after another."""
    torch, tokens = subject.torch, REQUESTS * draft
    generator = torch.Generator().manual_seed(subject.seed)

    def random(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator).bfloat16().to(subject.device)

    return {
        **{name: random(1, tokens, HEADS, DIM) for name in "qkv"},
        "a": random(1, tokens, HEADS * DIM),
        "b": random(1, tokens, HEADS),
        "A_log": random(1, 1, HEADS, 1) * 0.1,
        "dt_bias": random(HEADS * DIM) * 0.1,
    }


def verify(subject: Subject, kernel: Any, state: Any, draft: int = DRAFT, **options: Any) -> Any:
    """Verify `draft` tokens of each request on a layer's state; [1, tokens, H, V]."""
    torch, device = subject.torch, subject.device
    if kernel is None:
        return _on_reference(subject, state, draft)[None]
    return kernel.target_verify(
        **batch(subject, draft),
        ssm_states=state.temporal,
        cache_indices=torch.tensor(SLOTS, device=device),
        query_start_loc=torch.arange(REQUESTS + 1, device=device) * draft,
        intermediate_states_buffer=state.intermediate_ssm,
        cache_steps=draft,
        **(
            {
                "retrieve_parent_token": None,
                "intermediate_state_indices": torch.arange(REQUESTS, device=device),
            }
            | options
        ),
    )


def _on_reference(subject: Subject, state: Any, draft: int) -> Any:
    """The reference's verify of the batch on a layer's state: [tokens, H, V]."""
    from reproducers.reference.kda import kda_target_verify

    inputs = batch(subject, draft)
    return kda_target_verify(
        *(inputs[name][0].float() for name in "qkvab"),
        A_log=inputs["A_log"].flatten().float(),
        dt_bias=inputs["dt_bias"].float(),
        ssm_states=state.temporal,
        cache_indices=subject.torch.tensor(SLOTS, device=subject.device),
        draft_token_num=draft,
        intermediate_ssm=state.intermediate_ssm,
    )


def in_chunks(subject: Subject, states: Any) -> tuple[Any, Any]:
    """The same tokens in the reference's chunked form, in float32: outputs and last states.

    It shares no step with the recurrence of the kernel. states: [N, H, V, K], the requests'
    committed states. Gives [N, steps, H, V] and [N, H, V, K].
    """
    from reproducers.reference.chunked import naive_chunk_verify
    from reproducers.reference.gates import naive_beta, naive_decay_gate

    inputs = batch(subject)
    rows = {name: inputs[name][0].float().split(DRAFT) for name in "qkvab"}
    A_log, dt_bias = inputs["A_log"].flatten().float(), inputs["dt_bias"].float()
    done = [
        naive_chunk_verify(
            rows["q"][n],
            rows["k"][n],
            rows["v"][n],
            naive_decay_gate(rows["a"][n].view(DRAFT, HEADS, DIM), A_log, dt_bias.view(HEADS, DIM)),
            naive_beta(rows["b"][n]),
            initial_state=states[n].float(),
        )
        for n in range(REQUESTS)
    ]
    stack = subject.torch.stack
    return stack([one.out for one in done]), stack([one.final_state for one in done])


def difference(got: Any, expected: Any) -> float:
    """Largest difference, relative to the largest expected value."""
    return float((got.float() - expected.float()).abs().max() / expected.float().abs().max())
