"""The attention backend for Intel CPUs with AMX, and batches of two requests for it."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from reproducers.calls.objects import filled
from reproducers.upstream.subject import Subject

DRAFT = 4
"""Draft tokens a request."""
COMMITTED = [7, 5]
"""Tokens that the two requests have in the KV cache."""


class Recorder:
    """A kernel that keeps the arguments of its last call and computes nothing."""

    def __call__(self, *arguments: Any) -> None:
        """Keep the arguments."""
        self.arguments = arguments


def amx_backend(subject: Subject, context_len: int = 16) -> Any:
    """The release's own IntelAMXAttnBackend, built by its `__init__`, for a model of two heads.

    Four requests of up to `context_len` tokens; as many slots as half of them need.
    """
    torch = subject.torch
    module = subject.load("sglang.srt.layers.attention.intel_amx_backend")
    context = subject.load("sglang.srt.runtime_context")
    for kernel in ("decode_attention_cpu", "extend_attention_cpu"):
        subject.substitute(torch.ops.sgl_kernel, kernel, Recorder(), why="needs an Intel AMX CPU")
    buffer = torch.zeros(2 * context_len, 2, 4)  # [slots, heads, head_dim]
    table = torch.zeros(4, context_len, dtype=torch.int32)
    runner = SimpleNamespace(
        device="cpu",
        req_to_token_pool=SimpleNamespace(req_to_token=table),
        token_to_kv_pool=SimpleNamespace(
            get_key_buffer=lambda _layer: buffer, get_value_buffer=lambda _layer: buffer
        ),
        use_mla_backend=False,
        model_config=SimpleNamespace(context_len=context_len, num_attention_heads=2),
        ps=SimpleNamespace(tp_size=1),
    )
    subject.in_place_of("ModelRunner", runner, why="no model is loaded: pools and sizes alone")
    settings = context.get_context().override_server_args(speculative_num_draft_tokens=DRAFT)
    with settings as runner.server_args, context.get_parallel().override(attn_tp_size=1):
        return module.IntelAMXAttnBackend(runner)


def forward_batch(
    subject: Subject,
    spec_info: Any,
    mode: str = "TARGET_VERIFY",
    *,
    committed: Sequence[int] = COMMITTED,
    draft: int = DRAFT,
) -> Any:
    """The release's own ForwardBatch of two requests with `draft` tokens each."""
    torch = subject.torch
    info = subject.load("sglang.srt.model_executor.forward_batch_info")
    return info.ForwardBatch(
        forward_mode=info.ForwardMode[mode],
        batch_size=2,
        input_ids=torch.arange(2 * draft),
        req_pool_indices=torch.arange(2),
        seq_lens=torch.tensor(committed),
        out_cache_loc=torch.arange(2 * draft),
        seq_lens_sum=sum(committed),
        spec_info=spec_info,
    )


def verify_input(subject: Subject, topk: int, draft_token_num: int = DRAFT) -> Any:
    """The release's own EagleVerifyInput: a chain for topk 1, else a tree with a mask."""
    cls = subject.load("sglang.srt.speculative.eagle_info").EagleVerifyInput
    size = sum((n + DRAFT) * DRAFT for n in COMMITTED)  # every draft token sees prefix and draft
    mask = subject.torch.ones(size, dtype=subject.torch.bool)
    return filled(cls, custom_mask=mask, topk=topk, draft_token_num=draft_token_num)


def metadata(subject: Subject) -> Callable[..., tuple[list[int], list[int], list[int], str]]:
    """`derive(topk, draft_token_num=4)`: lengths, extend lengths, start locations and the mask.

    For two requests to verify; topk None is a batch without its verify input. The mask is `none`,
    `the draft's` or `other`.
    """
    if subject.version is None:
        return _reference_metadata(subject)
    backend = amx_backend(subject)

    def derive(
        topk: int | None, draft_token_num: int = DRAFT
    ) -> tuple[list[int], list[int], list[int], str]:
        draft = None if topk is None else verify_input(subject, topk, draft_token_num)
        backend.init_forward_metadata(forward_batch(subject, draft))
        seq_lens, extend, start, mask = backend.extend_metadata
        return seq_lens.tolist(), extend.tolist(), start.tolist(), _kept(mask, draft)

    return derive


def _kept(mask: Any, draft: Any) -> str:
    return "none" if mask is None else "the draft's" if mask is draft.custom_mask else "other"


def _reference_metadata(
    subject: Subject,
) -> Callable[..., tuple[list[int], list[int], list[int], str]]:
    from reproducers.reference import metadata as reference

    torch = subject.torch

    def derive(
        topk: int | None, draft_token_num: int = DRAFT
    ) -> tuple[list[int], list[int], list[int], str]:
        mask = torch.ones(2 * draft_token_num**2, dtype=torch.bool)
        draft = None
        if topk is not None:
            draft = reference.VerifyInput(
                draft_token_num=draft_token_num, tree_topk=topk, custom_mask=mask
            )
        batch = reference.ForwardBatch(
            forward_mode=reference.ForwardMode.TARGET_VERIFY,
            seq_lens=torch.tensor(COMMITTED),
            spec_info=draft,
        )
        seq_lens, extend, start, mask = reference.build_extend_metadata(batch)
        assert extend is not None
        assert start is not None
        return seq_lens.tolist(), extend.tolist(), start.tolist(), _kept(mask, draft)

    return derive


def attention_layer(subject: Subject, heads: int, dim: int, scaling: float) -> Any:
    """What `forward_extend` asks of the model's attention layer: sizes and options."""
    layer = SimpleNamespace(
        qk_head_dim=dim,
        v_head_dim=dim,
        tp_q_head_num=heads,
        layer_id=0,
        scaling=scaling,
        **dict.fromkeys(("k_scale_float", "v_scale_float", "attn_type")),
        logit_cap=0.0,
        is_cross_attention=False,
        sliding_window_size=-1,
    )
    return subject.in_place_of("RadixAttention", layer, why="no model is loaded: sizes alone")


def lengths_in_kernel(subject: Subject, backend: Any) -> list[int]:
    """The `seq_lens` that the release's `forward_extend` hands to the kernel for a chain of 4."""
    batch = forward_batch(subject, verify_input(subject, topk=1))
    layer = attention_layer(subject, heads=2, dim=4, scaling=1.0)
    backend.init_forward_metadata(batch)
    query = subject.torch.zeros(2 * DRAFT, 8)  # [tokens, heads * head_dim]
    backend.forward_extend(query, None, None, layer, batch, save_kv_cache=False)
    arguments = backend.extend_attention_fwd.arguments
    rows = next(i for i, a in enumerate(arguments) if a is batch.req_pool_indices)
    return list(arguments[rows + 1].tolist())
