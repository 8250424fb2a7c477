"""The recurrent verify of GDN and KDA layers: its wrapper, with the kernel in plain torch."""

from collections.abc import Callable
from typing import Any

from reproducers.calls.triton_arithmetic import arithmetic
from reproducers.upstream.subject import Subject

REQUESTS, TOKENS = 2, 3
HEADS, VALUE_HEADS, KEY, VALUE = 1, 2, 16, 8
SLOTS = 4
ROWS = 8
"""Rows of a replay ring."""


class RecurrentKernel:
    """The fused kernel: gates, recurrence, states by row, and the raw rows of a ring if given."""

    def __class_getitem__(cls, _grid: Any) -> Any:
        """What a launch grid gives."""
        return cls.launch

    @staticmethod
    def launch(**given: Any) -> None:
        """Compute `o` [1, 1, tokens, HV, V]; states are read from `h0_source` and never written."""
        from reproducers.reference.gates import naive_beta, naive_decay_gate
        from reproducers.reference.recurrent import naive_recurrent_verify
        from reproducers.reference.replay import ReplayWindow

        q, k, v = (given[name][0] for name in "qkv")
        gate = (given["HV"], given["K"]) if given["IS_KDA"] else (given["HV"],)
        bound = given["lower_bound"] if given.get("USE_LOWER_BOUND") else None
        a, dt_bias = given["a"].reshape(-1, *gate), given["dt_bias"].reshape(gate)
        g = naive_decay_gate(a, given["A_log"].flatten(), dt_bias, lower_bound=bound)
        beta = naive_beta(given["b"].reshape(-1, given["HV"]))
        slots = given["h0_indices"]
        each = q.shape[0] // len(slots)
        # No scale is refused in a kernel: the output is linear in it.
        given["o"][0, 0] = given["scale"] * naive_recurrent_verify(
            q,
            k,
            v,
            g,
            beta,
            ssm_states=given["h0_source"],
            cache_indices=slots,
            draft_token_num=each,
            intermediate_ssm=given["intermediate_states_buffer"],
            intermediate_state_indices=given["intermediate_state_indices"],
            retrieve_parent_token=given["retrieve_parent_token_ptr"],
            scale=1.0,
        )
        if given.get("CACHE_RING"):
            rings = {x: given[f"replayssm_{x}"] for x in ("rawv", "rawk", "g", "beta")}
            for n, slot in enumerate(slots.tolist()):
                rows = slice(n * each, (n + 1) * each)
                records = (x[rows] for x in (k, v, g, beta))
                ReplayWindow(**rings).write(slot, slots.new_tensor(range(each)), records)


def no_pdl() -> bool:
    """Whether the device chains dependent launches; a CPU does not."""
    return False


def recurrent_update(subject: Subject) -> Callable[..., Any]:
    """`update(is_kda=False, scale=None, rings=None, ...)`: outputs [1, tokens, HV, V].

    On the reference the same call goes to its recurrent verify, or with rings to its replay verify.
    """
    if subject.version is None:
        return _reference(subject)
    arithmetic(subject)
    module = subject.load(
        "sglang.kernels.ops.attention.linear.fused_sigmoid_gating_recurrent",
        "sglang.kernels.ops.attention.fla.fused_sigmoid_gating_recurrent",
        "sglang.srt.layers.attention.fla.fused_sigmoid_gating_recurrent",
    )
    kernel = "fused_sigmoid_gating_delta_rule_update_kernel"
    subject.substitute(module, kernel, RecurrentKernel, why="a Triton kernel")
    if hasattr(module, "is_arch_support_pdl"):
        subject.substitute(module, "is_arch_support_pdl", no_pdl, why="asks for a CUDA device")

    def update(
        is_kda: bool = False,  # noqa: FBT001, FBT002  # one call of few options
        scale: float | None = None,
        rings: dict[str, Any] | None = None,
        **more: Any,
    ) -> Any:
        given = inputs(subject, is_kda=is_kda) | more
        if rings is not None:
            given |= {f"replayssm_{name}": x for name, x in rings.items()} | {"cache_ring": True}
        return module.fused_sigmoid_gating_delta_rule_update(
            **given,
            is_kda=is_kda,
            scale=scale,
            softplus_beta=1.0,
            softplus_threshold=20.0,
            use_qk_l2norm_in_kernel=True,
            disable_state_update=True,
            cu_seqlens=subject.torch.arange(REQUESTS + 1, device=subject.device) * TOKENS,
        )

    return update


def inputs(subject: Subject, *, is_kda: bool, tokens: int = TOKENS) -> dict[str, Any]:
    """Some tokens of each of two requests in slots 2 and 0, and the committed states."""
    torch = subject.torch
    generator = torch.Generator().manual_seed(subject.seed)
    rows, gate = REQUESTS * tokens, VALUE_HEADS * (KEY if is_kda else 1)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator).to(subject.device)

    return {
        "q": normal(1, rows, HEADS, KEY),
        "k": normal(1, rows, HEADS, KEY),
        "v": normal(1, rows, VALUE_HEADS, VALUE),
        "a": normal(rows, gate),
        "b": normal(rows, VALUE_HEADS),
        "A_log": torch.zeros(VALUE_HEADS, device=subject.device),
        "dt_bias": torch.zeros(gate, device=subject.device),
        "initial_state_source": normal(SLOTS, VALUE_HEADS, VALUE, KEY) * 0.3,
        "initial_state_indices": torch.tensor([2, 0], device=subject.device),
    }


def replay_rings(
    subject: Subject, *, is_kda: bool, layers: int = 0, rows: int = ROWS
) -> dict[str, Any]:
    """Empty rings of one layer, or of several with the layer first."""
    torch, lead = subject.torch, [layers] * bool(layers)
    gate = (rows, KEY) if is_kda else (rows,)
    shapes = {
        "rawv": (VALUE_HEADS, rows, VALUE),
        "rawk": (HEADS, rows, KEY),
        "g": (VALUE_HEADS, *gate),
        "beta": (VALUE_HEADS, rows),
    }
    return {
        name: torch.zeros(*lead, SLOTS, *shape, device=subject.device)
        for name, shape in shapes.items()
    }


def _reference(subject: Subject) -> Callable[..., Any]:
    from reproducers.reference.gates import naive_beta, naive_decay_gate
    from reproducers.reference.recurrent import naive_recurrent_verify
    from reproducers.reference.replay import ReplayWindow, naive_replay_verify

    def update(
        is_kda: bool = False,  # noqa: FBT001, FBT002  # one call of few options
        scale: float | None = None,
        rings: dict[str, Any] | None = None,
    ) -> Any:
        given = inputs(subject, is_kda=is_kda)
        gate = (VALUE_HEADS, KEY) if is_kda else (VALUE_HEADS,)
        a, dt_bias = given["a"].reshape(-1, *gate), given["dt_bias"].reshape(gate)
        g, beta = naive_decay_gate(a, given["A_log"], dt_bias), naive_beta(given["b"])
        rows = (*(given[name][0] for name in "qkv"), g, beta)
        where = {
            "ssm_states": given["initial_state_source"],
            "cache_indices": given["initial_state_indices"],
            "draft_token_num": TOKENS,
            "scale": scale,
        }
        if rings is None:
            return naive_recurrent_verify(*rows, **where)[None]
        return naive_replay_verify(*rows, **where, window=ReplayWindow(**rings))[None]

    return update
