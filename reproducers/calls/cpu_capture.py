"""Capturing a CPU graph on the backend of hybrid models: its tables, without a model."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from reproducers.upstream.subject import Subject

REQUESTS, DRAFT = 2, 4
"""Requests of the captured graph, draft tokens of each."""


def same_slots(rows: Any) -> Any:
    """Request r keeps its state in slot r."""
    return rows


def captured(subject: Subject) -> Callable[..., list[int]]:
    """`capture(mode="TARGET_VERIFY", offsets=None)`: first token of each request, and the end.

    `offsets` are the verify offsets that the backend is given after it made its CPU state.
    """
    torch = subject.torch
    module = subject.load("sglang.srt.layers.attention.hybrid_linear_attn_backend")
    modes = subject.load("sglang.srt.model_executor.forward_batch_info").ForwardMode
    cls = module.MambaAttnBackendBase
    lists = ("state_indices", "query_start_loc", "retrieve_next_token", "retrieve_next_sibling",
             "retrieve_parent_token")  # fmt: skip
    unset = ("replayssm_write_pos_list", "replayssm_force_flush_list", "forward_metadata",
             "cached_cuda_graph_decode_query_start_loc",
             "cached_cuda_graph_verify_query_start_loc")  # fmt: skip

    def capture(mode: str = "TARGET_VERIFY", offsets: list[int] | None = None) -> list[int]:
        pool = SimpleNamespace(get_mamba_indices=same_slots, translate_mamba_indices=same_slots)
        fields: dict[str, Any] = {f"{name}_list": [] for name in lists} | dict.fromkeys(unset)
        fields |= {"pad_slot_id": -1, "device": "cpu", "topk": 1, "req_to_token_pool": pool}
        fields |= {"enable_unified_memory": False}
        why = "no model is loaded: what __init__ sets, with a pool that maps requests to slots"
        subject.in_place_of("MambaAttnBackendBase.__init__", SimpleNamespace(**fields), why=why)
        backend = cls.__new__(cls)
        vars(backend).update(fields)
        backend.init_cpu_graph_state(REQUESTS, REQUESTS * DRAFT)
        if offsets is not None:
            backend.cached_cuda_graph_verify_query_start_loc = torch.tensor(
                offsets, dtype=torch.int32
            )
        given = {
            "bs": REQUESTS,
            "num_tokens": REQUESTS * DRAFT,
            "req_pool_indices": torch.arange(REQUESTS),
            "seq_lens": torch.tensor([7, 5]),
            "encoder_lens": None,
            "forward_mode": modes[mode],
            "spec_info": None,
        }
        begin = backend.init_forward_metadata_capture_cpu_graph
        if "out_cache_loc" in inspect.signature(begin).parameters:
            given["out_cache_loc"] = torch.arange(REQUESTS * DRAFT)
        begin(**given)
        return list(backend.forward_metadata.query_start_loc.tolist())

    return capture
