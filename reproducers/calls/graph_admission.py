"""The release's own decode graph runner: whether it takes a batch, and what it copies of one."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from reproducers.calls.graph_buffers import MAX_BS, registry
from reproducers.calls.objects import filled
from reproducers.upstream.subject import Subject


@dataclass(frozen=True)
class GraphRunner:
    """A runner for two requests, captured for so many tokens a request."""

    subject: Subject
    width: int

    def takes(self, batch: Any) -> bool:
        """What the release's own check says of a batch."""
        subject = self.subject
        runner, check = _decode_runner(subject)
        algorithms = subject.load("sglang.srt.speculative.spec_info").SpeculativeAlgorithm
        modes = subject.load("sglang.srt.model_executor.forward_batch_info").CaptureHiddenMode
        verifies = self.width > 1
        fields = {
            "captured_req_width": self.width,
            "num_tokens_per_bs": self.width,
            "max_bs": MAX_BS,
            "capture_hidden_mode": modes.FULL if verifies else modes.NULL,
            "model_runner": SimpleNamespace(
                spec_algorithm=algorithms.EAGLE if verifies else algorithms.NONE
            ),
        }
        off = ("require_mlp_tp_gather", "require_mlp_sync", "enable_pdmux", "disable_padding",
               "is_encoder_decoder", "enable_two_batch_overlap", "ragged_verify_mode",
               "enable_lora", "lora_variants", "record_nolora_graph")  # fmt: skip
        for name, value in (dict.fromkeys(off, False) | fields).items():
            object.__setattr__(runner, name, value)
        why = "a runner that was never captured: what its check of a batch asks for"
        subject.in_place_of(type(runner).__name__, fields, why=why)
        return bool(check(runner, batch))

    def replay(self, batch: Any) -> list[int]:
        """Copy a batch into the release's buffers, as a replay does first: `input_ids`."""
        width, requests = self.width, batch.batch_size
        buffers = registry(self.subject, width)
        buffers.fill_from(
            batch,
            raw_bs=requests,
            padded_bs=MAX_BS,
            raw_num_tokens=requests * width,
            padded_num_tokens=MAX_BS * width,
        )
        slot = buffers.get_slot("input_ids")
        rows = slot.slice_for(MAX_BS, MAX_BS * width) if hasattr(slot, "slice_for") else None
        return list((slot.required() if rows is None else rows).tolist())

    def run(self, batch: Any) -> Any:
        """`eager` for a batch that the runner does not take; else what a replay copies."""
        return self.replay(batch) if self.takes(batch) else "eager"


def plain_decode(subject: Subject, num_tokens_per_req: int | None, requests: int = MAX_BS) -> Any:
    """A batch of one token a request, and what speculation left: a draft input of this width.

    num_tokens_per_req: None for a batch without `spec_info`; -1 is unset.
    """
    torch = subject.torch
    modes = subject.load("sglang.srt.model_executor.forward_batch_info")
    cls = subject.load("sglang.srt.speculative.eagle_info").EagleDraftInput
    left = None
    if num_tokens_per_req is not None:
        left = filled(cls, num_tokens_per_req=num_tokens_per_req)
    batch = SimpleNamespace(
        batch_size=requests,
        spec_info=left,
        forward_mode=modes.ForwardMode.DECODE,
        capture_hidden_mode=modes.CaptureHiddenMode.NULL,
        replace_embeds=None,
        lora_ids=None,
        input_ids=torch.arange(requests) + 1,
        positions=torch.arange(requests),
        out_cache_loc=torch.arange(requests),
        req_pool_indices=torch.arange(requests),
        seq_lens=torch.full((requests,), 7),
    )
    why = "of a forward batch the fields that the check and the buffers ask for"
    subject.in_place_of("ForwardBatch", batch, why=why)
    return batch


def _decode_runner(subject: Subject) -> tuple[Any, Any]:
    """An instance of the runner's class that was not initialised, and its check of a batch."""
    module = subject.load(
        "sglang.srt.model_executor.runner.decode_cuda_graph_runner",
        "sglang.srt.model_executor.cuda_graph_runner",
    )
    cls = getattr(module, "DecodeCudaGraphRunner", None) or module.CudaGraphRunner
    return object.__new__(cls), getattr(cls, "can_run_graph", None) or cls.can_run
