"""What a padded batch of a data-parallel group is cut back to after its draft extend."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from reproducers.calls.objects import filled
from reproducers.upstream.subject import Subject

REQUESTS, WIDTH, PADDED = 2, 4, 12
"""Requests, tokens of each, and rows that the group padded to."""


def rows_after(subject: Subject) -> Callable[[int], list[int]]:
    """`rows(width)`: which of twelve rows are left, eight of them real.

    The release's own ForwardBatch and EagleDraftExtendInput; `width` is its `num_tokens_per_req`.
    """
    torch = subject.torch
    info = subject.load("sglang.srt.model_executor.forward_batch_info")

    def rows(width: int) -> list[int]:
        batch = filled(
            info.ForwardBatch,
            forward_mode=info.ForwardMode.DRAFT_EXTEND_V2,
            batch_size=REQUESTS,
            spec_info=extend_input(subject, width),
        )
        numbers = torch.arange(PADDED).view(-1, 1)
        output = SimpleNamespace(
            next_token_logits=numbers, hidden_states=numbers, last_hidden_states=None
        )
        why = "of a logits processor's output the two tensors that are cut"
        subject.in_place_of("LogitsProcessorOutput", output, why=why)
        batch.post_forward_mlp_sync_batch(output)
        assert torch.equal(output.next_token_logits, output.hidden_states)
        return list(output.next_token_logits.flatten().tolist())

    return rows


def extend_input(subject: Subject, width: int | None = None) -> Any:
    """The release's own EagleDraftExtendInput; its width is left as it comes if None."""
    cls = subject.load("sglang.srt.speculative.eagle_info").EagleDraftExtendInput
    return filled(cls) if width is None else filled(cls, num_tokens_per_req=width)
