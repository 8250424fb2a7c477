"""The release's own Triton kernels: compiled on a GPU, interpreted on a CPU.

A reproducer that uses them says `REAL = ("triton",)`, so that the installed triton is imported and
no stand-in. Without one its steps are skipped, with the reason.
"""

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from reproducers.calls.recurrent_update import (
    KEY,
    REQUESTS,
    ROWS,
    SLOTS,
    VALUE_HEADS,
    inputs,
    no_pdl,
    replay_rings,
)
from reproducers.upstream.subject import Subject


def use_triton(subject: Subject) -> None:
    """Prepare for kernels of the release; call it before its modules are loaded.

    Raises:
        Skip: triton is not installed.
    """
    if importlib.util.find_spec("triton") is None:
        subject.skip("triton is not installed, and this runs the release's own Triton kernels")
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="triton-"))
    if subject.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"


class Index(int):
    """A loop index that can be cast, as in a compiled kernel; the interpreter's own cannot."""

    def to(self, _dtype: Any) -> "Index":
        """The same number."""
        return self


def indices(*bounds: int) -> Iterator[Index]:
    """`range`, giving indices that can be cast."""
    return map(Index, range(*bounds))


def recurrent_verify(subject: Subject) -> Callable[..., Any]:
    """`verify(tokens, is_kda=True, scratch=None, parents=None)`: outputs [tokens, HV, V].

    Two requests of `tokens` nodes each; states go to `scratch` [rows, steps, HV, V, K].
    """
    use_triton(subject)
    torch = subject.torch
    module = subject.load(
        "sglang.kernels.ops.attention.linear.fused_sigmoid_gating_recurrent",
        "sglang.kernels.ops.attention.fla.fused_sigmoid_gating_recurrent",
    )
    if hasattr(module, "is_arch_support_pdl") and subject.device == "cpu":
        subject.substitute(module, "is_arch_support_pdl", no_pdl, why="asks for a CUDA device")

    def verify(
        tokens: int,
        is_kda: bool = True,  # noqa: FBT001, FBT002  # one call of few options
        scratch: Any = None,
        parents: Any = None,
    ) -> Any:
        given = inputs(subject, is_kda=is_kda, tokens=tokens)
        return module.fused_sigmoid_gating_delta_rule_update(
            **given,
            is_kda=is_kda,
            softplus_beta=1.0,
            softplus_threshold=20.0,
            use_qk_l2norm_in_kernel=True,
            disable_state_update=True,
            cu_seqlens=torch.arange(REQUESTS + 1, device=subject.device) * tokens,
            intermediate_states_buffer=scratch,
            intermediate_state_indices=torch.arange(
                REQUESTS, dtype=torch.int32, device=subject.device
            ),
            cache_steps=None if scratch is None else scratch.shape[1],
            retrieve_parent_token=parents,
        )[0]

    return verify


def expected(subject: Subject, tokens: int, *, is_kda: bool = True, parents: Any = None) -> Any:
    """Outputs [tokens, HV, V] and states [requests, steps, HV, V, K] from the reference."""
    from reproducers.reference.gates import naive_beta, naive_decay_gate
    from reproducers.reference.recurrent import naive_recurrent_verify

    given = inputs(subject, is_kda=is_kda, tokens=tokens)
    gate = (VALUE_HEADS, KEY) if is_kda else (VALUE_HEADS,)
    a, dt_bias = given["a"].reshape(-1, *gate), given["dt_bias"].reshape(gate)
    states = given["initial_state_source"]
    scratch = states.new_zeros(REQUESTS, tokens, *states.shape[1:])
    q, k, v = (given[name][0] for name in "qkv")
    out = naive_recurrent_verify(
        q,
        k,
        v,
        naive_decay_gate(a, given["A_log"], dt_bias),
        naive_beta(given["b"]),
        ssm_states=states,
        cache_indices=given["initial_state_indices"],
        draft_token_num=tokens,
        intermediate_ssm=scratch,
        retrieve_parent_token=parents,
    )
    return out, scratch


def fold(subject: Subject) -> Callable[..., Any]:
    """`commit(slots, accept_lens, null_block_id=None, rows=8)`: states after folding two requests.

    A KDA layer of four slots whose rings of `rows` rows are filled with random numbers.
    """
    use_triton(subject)
    torch = subject.torch
    module = subject.load(
        "sglang.kernels.ops.attention.linear.kda_replayssm_spec_decode",
        "sglang.kernels.ops.attention.fla.kda_replayssm_spec_decode",
    )
    if subject.device == "cpu":
        why = "the interpreter's loop index cannot be cast"
        subject.substitute(vars(module), "range", indices, why=why)

    def commit(
        slots: list[int],
        accept_lens: list[int],
        null_block_id: int | None = None,
        rows: int = ROWS,
    ) -> Any:
        states, rings = filled(subject, rows)
        options = {} if null_block_id is None else {"null_block_id": null_block_id}
        module.commit_kda_replayssm_spec(
            states,
            rings["rawv"],
            rings["rawk"],
            rings["g"],
            rings["beta"],
            torch.tensor(slots, device=subject.device),
            torch.tensor(accept_lens, device=subject.device),
            max_cache_len=rows,
            num_k_heads=rings["rawk"].shape[1],
            **options,
        )
        return states

    return commit


def filled(subject: Subject, rows: int = ROWS) -> tuple[Any, dict[str, Any]]:
    """States [slots, HV, V, K] and the rings of one KDA layer, random."""
    torch = subject.torch
    generator = torch.Generator().manual_seed(subject.seed)
    rings = replay_rings(subject, is_kda=True, rows=rows)
    for name, ring in rings.items():
        ring.copy_(torch.randn(ring.shape, generator=generator))
        if name == "g":
            ring.abs_().neg_()
        if name == "beta":
            ring.sigmoid_()
    shape = (SLOTS, *rings["rawv"].shape[1:2], rings["rawv"].shape[-1], KEY)
    return torch.randn(shape, generator=generator).to(subject.device) * 0.3, rings


def folded(
    subject: Subject, slots: list[int], accept_lens: list[int], ring_rows: int = ROWS
) -> Any:
    """What the reference makes of the same states and rings."""
    from reproducers.reference.replay import ReplayWindow, fold_every_commit

    torch = subject.torch
    states, rings = filled(subject, ring_rows)
    rows = (torch.tensor(x, device=subject.device) for x in (slots, accept_lens))
    fold_every_commit(states, ReplayWindow(**rings), *rows)
    return states


def apart(got: Any, wanted: Any) -> float:
    """Difference of two tensors, relative, to three digits."""
    return round(float((got - wanted).norm() / wanted.norm()), 3)
