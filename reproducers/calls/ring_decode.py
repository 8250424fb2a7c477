"""The verify of a circular replay ring: its wrapper, with the kernels replaced by plain torch."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from reproducers.calls.triton_arithmetic import arithmetic
from reproducers.upstream.subject import Subject

HEADS, VALUE_HEADS, KEY, VALUE = 1, 2, 32, 16
TOKENS = 3
"""Draft tokens of the one request."""
LENGTH = 16
"""Rows of the ring."""


class CircularKernel:
    """The verify kernel for slots whose history is empty: outputs of a chain in chunked form."""

    parameters: ClassVar[tuple[str, ...]] = ()

    def __class_getitem__(cls, _grid: Any) -> Any:
        """What a launch grid gives."""
        return cls.launch

    @classmethod
    def launch(cls, *arguments: Any, **options: Any) -> None:
        """Compute `o` [tokens, HV, V] from `h0` [slots, HV, V, K] and the tokens."""
        from reproducers.reference.chunked import naive_chunk_verify
        from reproducers.reference.gates import naive_beta, naive_decay_gate

        given = dict(zip(cls.parameters, arguments, strict=False)) | options
        if given["IS_FLUSH"]:
            return  # no slot is to be flushed
        starts = given["query_start_loc"].tolist()
        for n, slot in enumerate(given["ssm_state_indices"].tolist()):
            rows = slice(starts[n], starts[n + 1])
            q, k, v, a, b = (given[name][rows] for name in ("q", "k", "v", "a", "b"))
            given["o"][rows] = naive_chunk_verify(
                q,
                k,
                v,
                naive_decay_gate(a, given["A_log"], given["dt_bias"]),
                naive_beta(b),
                initial_state=given["h0"][slot],
                scale=given["scale"],
            ).out


class FoldKernel:
    """The fold kernel where no slot is to be flushed: nothing."""

    def __class_getitem__(cls, _grid: Any) -> Any:
        """What a launch grid gives."""
        return cls.launch

    @staticmethod
    def launch(*_arguments: Any, **_options: Any) -> None:
        """No slot is to be flushed."""


def ring_decode(subject: Subject) -> Callable[..., Any]:
    """`verify(cache_len=16, nk=2, raw=True, mode="both", rows=None)`: outputs [tokens, HV, V].

    The one request's, from rings of `rows` rows, `cache_len` of them if that is None.
    """
    decode, inputs = ring_call(subject)

    def verify(
        cache_len: int = LENGTH,
        nk: int = 2,
        raw: bool = True,  # noqa: FBT001, FBT002  # one call of few options
        mode: str = "both",
        rows: int | None = None,
    ) -> Any:
        return decode(**inputs(cache_len, raw=raw, rows=rows), nk=nk, launch_mode=mode)

    return verify


def ring_call(subject: Subject) -> tuple[Callable[..., Any], Callable[..., dict[str, Any]]]:
    """The wrapper `gdn_replayssm_spec_decode`, and `inputs(cache_len=16, raw, keys, rows)`.

    The inputs are all that it needs by name: three tokens of one request and its rings, of
    `cache_len` rows if `rows` is None.
    """
    arithmetic(subject)
    folder = "sglang.kernels.ops.attention"
    module = subject.load(
        f"{folder}.linear.gdn_replayssm_spec_decode", f"{folder}.fla.gdn_replayssm_spec_decode"
    )
    kernel = module.gdn_replayssm_spec_circular_kernel
    if kernel is not CircularKernel:
        CircularKernel.parameters = tuple(inspect.signature(kernel).parameters)
        for name, new in (("spec_circular", CircularKernel), ("exact_fold", FoldKernel)):
            why = "a Triton kernel"
            subject.substitute(module, f"gdn_replayssm_{name}_kernel", new, why=why)

    def inputs(
        cache_len: int = LENGTH, *, raw: bool = True, keys: int = KEY, rows: int | None = None
    ) -> dict[str, Any]:
        made = rings(subject, cache_len if rows is None else rows, keys)
        given = tokens(subject, keys) | made
        given |= {"max_cache_len": cache_len, "max_spec_len": TOKENS}
        if not raw:
            given |= dict.fromkeys(("rawv_cache", "rawk_cache", "beta_cache"))
        if "replay_indices" in inspect.signature(module.gdn_replayssm_spec_decode).parameters:
            given["replay_indices"] = given["ssm_state_indices"]  # 0.5.23 on
        return given | {"out": subject.torch.zeros_like(given["v"])}

    return module.gdn_replayssm_spec_decode, inputs


def tokens(subject: Subject, keys: int = KEY) -> dict[str, Any]:
    """Three tokens of one request in slot 1, and the committed states of three slots."""
    torch = subject.torch
    generator = torch.Generator().manual_seed(subject.seed)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator)

    return {
        "q": normal(TOKENS, HEADS, keys),
        "k": normal(TOKENS, HEADS, keys),
        "v": normal(TOKENS, VALUE_HEADS, VALUE),
        "a": normal(TOKENS, VALUE_HEADS),
        "b": normal(TOKENS, VALUE_HEADS),
        "A_log": torch.zeros(VALUE_HEADS),
        "dt_bias": torch.zeros(VALUE_HEADS),
        "checkpoint_state": normal(3, VALUE_HEADS, VALUE, keys) * 0.3,
        "query_start_loc": torch.tensor([0, TOKENS]),
        "ssm_state_indices": torch.tensor([1]),
    }


def rings(subject: Subject, rows: int, keys: int = KEY) -> dict[str, Any]:
    """Empty rings of three slots and their cursors."""
    torch = subject.torch
    return {
        "d_cache": torch.zeros(3, VALUE_HEADS, rows, VALUE),
        "k_cache": torch.zeros(3, HEADS, rows, keys),
        "g_cache": torch.zeros(3, VALUE_HEADS, rows),
        "rawv_cache": torch.zeros(3, VALUE_HEADS, rows, VALUE),
        "rawk_cache": torch.zeros(3, HEADS, rows, keys),
        "beta_cache": torch.zeros(3, VALUE_HEADS, rows),
        "write_pos": torch.zeros(3, dtype=torch.int32),
        "cache_base": torch.zeros(3, dtype=torch.int32),
        "is_flush": torch.zeros(3, dtype=torch.int8),
    }


def recurrent_error(subject: Subject, out: Any, keys: int = KEY) -> float:
    """Largest difference of outputs from the recurrence over the same tokens, relative."""
    from reproducers.reference.gates import naive_beta, naive_decay_gate
    from reproducers.reference.recurrent import naive_recurrent_verify

    given = tokens(subject, keys)
    expected = naive_recurrent_verify(
        given["q"],
        given["k"],
        given["v"],
        naive_decay_gate(given["a"], given["A_log"], given["dt_bias"]),
        naive_beta(given["b"]),
        ssm_states=given["checkpoint_state"],
        cache_indices=given["ssm_state_indices"],
        draft_token_num=TOKENS,
    )
    return float((out - expected).abs().max() / expected.abs().max())
