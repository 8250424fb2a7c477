"""Input buffers of captured graphs: slots, their registry, and the bucket of a batch."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from reproducers.upstream.subject import Subject

MAX_BS, WIDTH = 2, 3
"""Requests of the largest graph, and tokens a request."""
MAX_TOKENS = MAX_BS * WIDTH


def _module(subject: Subject) -> Any:
    if subject.version is None:
        from reproducers.reference import buffers

        return buffers
    return subject.load("sglang.srt.model_executor.cuda_graph_buffer_registry")


def slot_maker(subject: Subject) -> Callable[..., Any]:
    """`make(name, axis="tokens", policy="ZERO", pad_value=None)`: a slot of int64 rows."""
    module, int64 = _module(subject), subject.torch.int64

    def make(
        name: str, axis: str = "tokens", policy: str = "ZERO", pad_value: int | None = None
    ) -> Any:
        given = {
            "name": name,
            "axis": axis,
            "padding_policy": module.PaddingPolicy[policy],
            "pad_value": pad_value,
            "dtype": int64,
        }
        if subject.version is not None:
            sizes = {"bs": lambda bs, _tokens: (bs,), "tokens": lambda _bs, tokens: (tokens,)}
            given["shape_fn"] = sizes.get(axis, lambda _bs, _tokens: (1,))
        return module.GraphSlot(**given)

    return make


def registry(subject: Subject, width: int = WIDTH) -> Any:
    """The registry of a decode graph for two requests of three tokens, with its usual slots.

    width: another number of tokens a request.
    """
    module = _module(subject)
    if subject.version is None:
        return module.GraphBuffers(max_bs=MAX_BS, num_tokens_per_req=width)
    wanted = {
        "device": subject.torch.device("cpu"),
        "max_bs": MAX_BS,
        "max_num_token": MAX_BS * width,
        "seq_len_fill_value": 1,
        "cache_loc_dtype": subject.torch.int64,
        "share_pool": False,
    }
    known = inspect.signature(module.build_decode_registry).parameters
    return module.build_decode_registry(**{k: v for k, v in wanted.items() if k in known})


def names_of(subject: Subject) -> dict[str, Any]:
    """What code about slots uses: the release's classes, a new decode registry and its sizes."""
    module, given = _module(subject), ("GraphSlot", "PaddingPolicy", "CudaGraphBufferRegistry")
    return {name: getattr(module, name) for name in given} | {
        "torch": subject.torch,
        "registry": registry(subject),
        "device": subject.torch.device("cpu"),
        "max_bs": MAX_BS,
        "num_tokens_per_req": WIDTH,
        "max_num_tokens": MAX_TOKENS,
        "shape": lambda _bs, tokens: (tokens,),
    }


def registers(subject: Subject) -> Callable[..., Any]:
    """`register(slot, bind=None)` with a new decode registry: the slot, registered."""
    return lambda slot, bind=None: registry(subject).register_slot(slot, bind=bind)


def filled_from(subject: Subject) -> Callable[[int, int], list[int]]:
    """`fill(requests, tokens_a_request)`: `input_ids` of the buffers after a batch was copied in.

    Token ids count from 1; the bucket is always that of two requests.
    """
    torch = subject.torch

    def fill(requests: int, tokens_a_request: int) -> list[int]:
        buffers = registry(subject)
        tokens = requests * tokens_a_request
        batch = {
            "input_ids": torch.arange(tokens) + 1,
            "positions": torch.arange(tokens),
            "out_cache_loc": torch.arange(tokens),
            "req_pool_indices": torch.arange(requests),
            "seq_lens": torch.full((requests,), 7),
        }
        if subject.version is None:
            views = buffers.fill_from(batch, padded_bs=MAX_BS)
            return list(views["input_ids"].tolist())
        forward_batch = SimpleNamespace(**batch)
        why = "of a forward batch only the fields that have a buffer"
        subject.in_place_of("ForwardBatch", forward_batch, why=why)
        buffers.fill_from(
            forward_batch,
            raw_bs=requests,
            padded_bs=MAX_BS,
            raw_num_tokens=requests * WIDTH,
            padded_num_tokens=MAX_TOKENS,
        )
        return list(rows_of(buffers.get_slot("input_ids")).tolist())

    return fill


def rows_of(slot: Any) -> Any:
    """The slot's rows for the largest batch."""
    if hasattr(slot, "slice_for"):
        return slot.slice_for(MAX_BS, MAX_TOKENS)
    return slot.required()


def decode_runner(subject: Subject, largest: int) -> Any:
    """The release's own runner of decode graphs, without graphs: those of up to `largest`.

    What it decides by are one token a request, no ranks beside it and no LoRA.
    """
    module = subject.load("sglang.srt.model_executor.runner.decode_cuda_graph_runner")
    algorithms = subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm
    hidden = subject.load("sglang.srt.model_executor.forward_batch_info").CaptureHiddenMode
    runner = module.DecodeCudaGraphRunner.__new__(module.DecodeCudaGraphRunner)
    off = (
        "ragged_verify_mode require_mlp_tp_gather enable_pdmux record_nolora_graph "
        "disable_padding require_mlp_sync is_encoder_decoder enable_two_batch_overlap"
    )
    sizes = {"max_bs": largest, "captured_req_width": 1, "num_tokens_per_bs": 1}
    model_runner = SimpleNamespace(spec_algorithm=algorithms.NONE)
    given = sizes | {"model_runner": model_runner, "capture_hidden_mode": hidden.NULL}
    vars(runner).update(dict.fromkeys(off.split(), False) | given)
    why = "captures nothing: the sizes and switches by which it takes a batch or does not"
    return subject.in_place_of("DecodeCudaGraphRunner", runner, why=why)


def decode_batch(subject: Subject, requests: int) -> Any:
    """A plain decode of as many requests, with what `can_run_graph` looks at."""
    hidden = subject.load("sglang.srt.model_executor.forward_batch_info").CaptureHiddenMode
    forward_batch = SimpleNamespace(
        batch_size=requests,
        input_ids=subject.torch.arange(requests),
        replace_embeds=None,
        spec_info=None,
        lora_ids=None,
        capture_hidden_mode=hidden.NULL,
    )
    why = "of a forward batch only the fields that are looked at"
    return subject.in_place_of("ForwardBatch", forward_batch, why=why)


def bucket(subject: Subject) -> Callable[..., int]:
    """`pad(raw_size, buckets)`: the smallest captured size that holds the batch."""
    if subject.version is None:
        return _module(subject).pad_to_bucket  # type: ignore[no-any-return]  # a reference function
    runner = subject.load("sglang.srt.model_executor.runner.base_cuda_graph_runner")
    return runner.BaseCudaGraphRunner._pad_to_bucket  # type: ignore[no-any-return]  # noqa: SLF001  # the place of the error
