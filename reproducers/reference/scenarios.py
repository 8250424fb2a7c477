"""Outcomes of event cases (`.json`): the given events stay, every computed value is replaced.

Computed values are `expect` or `expect_error`, `window_slots`, `after`, `hash`, `padded_bs`, `view`
and `custom_mask_numel`; they are dropped before anything is computed.
"""

from collections.abc import Callable
from typing import Any

import torch

from reproducers.reference.buffers import GraphBuffers, can_run_graph, pad_to_bucket
from reproducers.reference.metadata import (
    ForwardBatch,
    ForwardMode,
    VerifyInput,
    build_extend_metadata,
)
from reproducers.reference.ring import RingCursor, advance, check_ring_length, window_slots
from reproducers.reference.sampling import murmur_hash32
from reproducers.reference.widths import (
    SpecConfig,
    SpeculativeAlgorithm,
    batch_size_from_tokens,
    resolve_num_tokens_per_req,
)

Case = dict[str, Any]
COMPUTED = {
    "expect",
    "expect_error",
    "window_slots",
    "after",
    "hash",
    "padded_bs",
    "view",
    "custom_mask_numel",
}


def given_only(value: Any) -> Any:
    """The events without their computed values."""
    if isinstance(value, dict):
        return {k: given_only(v) for k, v in value.items() if k not in COMPUTED}
    if isinstance(value, list):
        return [given_only(v) for v in value]
    return value


def _outcome(compute: Callable[[], Any]) -> Case:
    """What a call gives: its value, or the class of what it raises."""
    try:
        return {"expect": compute()}
    except Exception as e:  # noqa: BLE001  # whatever the reference refuses is the outcome
        return {"expect_error": type(e).__name__}


def metadata(cases: list[Case], device: str) -> list[Case]:
    """`1_meta`: lengths, start rows and mask of verify batches."""

    def extend(batch: ForwardBatch, n: int) -> Case:
        seq_lens, extend_seq_lens, start_loc, mask = build_extend_metadata(batch)
        assert extend_seq_lens is not None
        assert start_loc is not None
        return {
            "seq_lens": seq_lens.tolist(),
            "extend_seq_lens": extend_seq_lens.tolist(),
            "extend_start_loc": start_loc.tolist(),
            "tree_mask": None if mask is None else mask.int().tolist(),
            "max_extend_len": n,
            "extend_dtype": str(extend_seq_lens.dtype).removeprefix("torch."),
            "total_tokens": int(extend_seq_lens.sum()),
        }

    out = []
    for case in cases:
        spec_info, n, mask = None, case["draft_token_num"], case.get("custom_mask")
        if "spec_info" not in case or case["spec_info"] is not None:
            spec_info = VerifyInput(
                draft_token_num=n,
                tree_topk=case["tree_topk"],
                custom_mask=None
                if mask is None
                else torch.tensor(mask, dtype=torch.bool, device=device),
            )
        batch = ForwardBatch(
            forward_mode=ForwardMode.TARGET_VERIFY,
            seq_lens=torch.tensor(case["seq_lens"], dtype=torch.int64, device=device),
            spec_info=spec_info,
        )
        out.append(case | _outcome(lambda batch=batch, n=n: extend(batch, n)))  # type: ignore[misc]  # bound now
    return out


def ring(file: Case, device: str) -> Case:  # noqa: ARG001  # cursors are host integers
    """`4_ring`: where each verify writes, and the cursor after its commit."""
    length, max_spec = file["length"], file["max_spec"]
    check_ring_length(length, max_spec)
    rounds = []
    for event in file["rounds"]:
        write_pos, base, is_flush = event["before"]
        cursor = RingCursor(write_pos, base, bool(is_flush))
        after = advance(cursor, event["accepted"], length=length, max_spec=max_spec)
        slots = window_slots(cursor, max_spec, length)
        rounds.append(event | {"window_slots": slots, "after": [int(x) for x in after]})
    return file | {"rounds": rounds}


def widths(file: Case, device: str) -> Case:
    """`5_widths`: tokens per request of each phase, and hashes of the seeded sampler."""
    out = []
    for case in file["widths"]:
        spec = SpecConfig(
            speculative_eagle_topk=case["topk"],
            speculative_num_draft_tokens=case["num_draft_tokens"],
        )
        arguments = {
            "phase": case["phase"],
            "spec_algorithm": SpeculativeAlgorithm("DSPARK" if case.get("dspark") else "EAGLE"),
            "is_draft_worker": bool(case.get("is_draft_worker")),
            "num_draft_tokens": case.get("override"),
        }
        out.append(
            case | _outcome(lambda spec=spec, a=arguments: resolve_num_tokens_per_req(spec, **a))  # type: ignore[misc]  # bound now
        )
    hashes = []
    for case in file["murmur"]:
        row = (torch.tensor([case[x]], device=device) for x in ("seed", "pos", "col"))
        hashes.append(case | {"hash": int(murmur_hash32(*row))})
    return file | {"widths": out, "murmur": hashes}


def buffers(file: Case, device: str) -> Case:
    """`6_buffers`: what a replay reads after each fill, and which batches may replay at all."""
    max_bs, width, capture_bs = file["max_bs"], file["width"], file["capture_bs"]
    graph = GraphBuffers(
        max_bs=max_bs,
        num_tokens_per_req=width,
        seq_len_fill_value=file["seq_len_fill"],
        device=device,
    )

    def fill(event: Case) -> Case:
        batch = {name: torch.tensor(x, device=device) for name, x in event["batch"].items()}
        padded_bs = pad_to_bucket(batch["seq_lens"].shape[0], capture_bs)
        view = graph.fill_from(batch, padded_bs=padded_bs)
        return {"padded_bs": padded_bs, "view": {name: view[name].tolist() for name in batch}}

    fills = []
    for event in file["fills"]:
        outcome = _outcome(lambda event=event: fill(event))  # type: ignore[misc]  # bound now
        fills.append(event | outcome.get("expect", outcome))
    admitted = [
        case
        | {"expect": can_run_graph(case["bs"], case["spec_width"], max_bs=max_bs, captured=width)}
        for case in file["can_run"]
    ]
    sizes = []
    for case in file["batch_from_tokens"]:
        pair = case["num_tokens"], case["spec_width"]
        sizes.append(case | _outcome(lambda pair=pair: batch_size_from_tokens(*pair)))  # type: ignore[misc]  # bound now
    return file | {
        "custom_mask_numel": graph.custom_mask_numel,
        "fills": fills,
        "can_run": admitted,
        "batch_from_tokens": sizes,
    }


EVENT_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "1_meta": metadata,
    "4_ring": ring,
    "5_widths": widths,
    "6_buffers": buffers,
}
