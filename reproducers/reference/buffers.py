"""Input buffers of captured graphs: sized once for the largest batch, filled before each replay.

A fill resets the padded tail by each slot's policy, copies the batch's head and leaves the rest:
padded rows must point at the reserved slot 0, and stale token ids there are never read.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import torch
from torch import Tensor

UNSET_WIDTH = -1


class PaddingPolicy(Enum):
    """What happens to the rows between the batch and its bucket."""

    KEEP = "keep"
    ZERO = "zero"
    FILL_SENTINEL = "fill_sentinel"


@dataclass(slots=True, kw_only=True)
class GraphSlot:
    """One buffer that mirrors one field of the batch.

    Attributes:
        name: the batch's field.
        axis: `bs` (a row per request), `tokens` (a row per token) or `none` (never sliced).
        padding_policy: what the padded tail becomes.
        pad_value: the sentinel of FILL_SENTINEL.
        dtype: of the buffer.
    """

    name: str
    axis: str = "tokens"
    padding_policy: PaddingPolicy = PaddingPolicy.KEEP
    pad_value: int | None = None
    dtype: torch.dtype = torch.int64
    buffer: Tensor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse an axis that no batch has."""
        if self.axis not in ("bs", "tokens", "none"):
            raise ValueError(
                f"GraphSlot {self.name!r}: axis must be one of "
                f"'bs'/'tokens'/'none', got {self.axis!r}"
            )

    def rows(self, bs: int, num_tokens: int) -> int:
        """Rows that a batch of this size uses."""
        return {"bs": bs, "tokens": num_tokens, "none": len(self.required())}[self.axis]

    def required(self) -> Tensor:
        """The buffer.

        Raises:
            RuntimeError: the slot was never registered.
        """
        if self.buffer is None:
            raise RuntimeError(f"GraphSlot {self.name!r}: buffer not allocated")
        return self.buffer

    def reset_padding(self, raw: int, padded: int) -> None:
        """Reset rows `[raw, padded)`.

        Raises:
            RuntimeError: FILL_SENTINEL without a sentinel.
        """
        if raw >= padded or self.padding_policy is PaddingPolicy.KEEP:
            return
        if self.padding_policy is PaddingPolicy.ZERO:
            self.required()[raw:padded].zero_()
            return
        if self.pad_value is None:
            raise RuntimeError(f"GraphSlot {self.name!r}: FILL_SENTINEL requires pad_value")
        self.required()[raw:padded].fill_(self.pad_value)


def decode_slots(seq_len_fill_value: int) -> list[GraphSlot]:
    """The slots of a decode or verify graph."""
    zero, sentinel = PaddingPolicy.ZERO, PaddingPolicy.FILL_SENTINEL
    return [
        GraphSlot(name="input_ids"),
        GraphSlot(name="positions", padding_policy=zero),
        GraphSlot(name="out_cache_loc", padding_policy=zero),
        GraphSlot(name="req_pool_indices", axis="bs", padding_policy=zero),
        *(
            GraphSlot(name=name, axis="bs", padding_policy=sentinel, pad_value=seq_len_fill_value)
            for name in ("seq_lens", "seq_lens_cpu")
        ),
        GraphSlot(name="mamba_track_indices", axis="bs", padding_policy=zero),
        GraphSlot(name="mamba_track_mask", axis="bs", padding_policy=zero, dtype=torch.bool),
    ]


class GraphBuffers:
    """The registry of a captured graph's buffers, for batches of up to `max_bs` requests.

    Args:
        max_bs: requests of the largest captured graph.
        num_tokens_per_req: width the graphs are captured with.
        source: buffers by name to adopt instead of allocating; complete or refused.
        device: where to allocate.
    """

    def __init__(
        self,
        *,
        max_bs: int,
        num_tokens_per_req: int,
        seq_len_fill_value: int = 1,
        source: Mapping[str, Tensor] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.max_bs = max_bs
        self.num_tokens_per_req = num_tokens_per_req
        self.max_num_tokens = max_bs * num_tokens_per_req
        self.seq_len_fill_value = seq_len_fill_value
        self.device = torch.device(device)
        self.slots: dict[str, GraphSlot] = {}
        for slot in decode_slots(seq_len_fill_value):
            bind = None
            if source is not None:
                bind = source.get(slot.name)
                if bind is None:
                    raise ValueError(
                        f"source is missing buffer {slot.name!r} required by the "
                        "decode registry; cannot adopt."
                    )
            self.register_slot(slot, bind=bind)

    @property
    def custom_mask_numel(self) -> int:
        """Elements of the FULL_MASK buffer: every request at the fill length, plus the drafts."""
        prefix = self.max_bs * self.seq_len_fill_value
        return (prefix + self.max_num_tokens) * self.num_tokens_per_req

    def register_slot(self, slot: GraphSlot, bind: Tensor | None = None) -> GraphSlot:
        """Allocate a slot's buffer, or adopt `bind`.

        Raises:
            ValueError: a name that is taken, or a `bind` of another shape or dtype.
        """
        if slot.name in self.slots:
            raise ValueError(
                f"GraphSlot {slot.name!r} already registered; "
                "use enable()/disable() to gate per-iter."
            )
        expected = {"bs": (self.max_bs,), "tokens": (self.max_num_tokens,), "none": (1,)}[slot.axis]
        if bind is not None:
            if tuple(bind.shape) != expected:
                raise ValueError(
                    f"bind tensor for slot {slot.name!r} has shape "
                    f"{tuple(bind.shape)}, expected {expected}."
                )
            if bind.dtype != slot.dtype:
                raise ValueError(
                    f"bind tensor for slot {slot.name!r} has dtype {bind.dtype}, "
                    f"expected {slot.dtype}."
                )
            slot.buffer = bind
        else:
            slot.buffer = torch.zeros(expected, dtype=slot.dtype, device=self.device)
            if slot.padding_policy is PaddingPolicy.FILL_SENTINEL and slot.pad_value is not None:
                slot.buffer.fill_(slot.pad_value)
        self.slots[slot.name] = slot
        return slot

    def fill_from(
        self,
        batch: Mapping[str, Tensor],
        *,
        padded_bs: int,
        post_fill: Callable[[Mapping[str, GraphSlot]], None] | None = None,
    ) -> dict[str, Tensor]:
        """Fill the buffers and return the views `[:padded]` that a replay reads.

        Fields that the batch lacks keep what the buffer holds. A batch whose tokens are not
        `num_tokens_per_req` a request fails in the copy, with torch's "size of tensor a" error.

        Args:
            batch: `input_ids`, `positions`, `out_cache_loc` `[tokens]`; `req_pool_indices`,
                `seq_lens` `[bs]`.
            padded_bs: the bucket.
            post_fill: run last, on all slots.
        """
        raw_bs = batch["seq_lens"].shape[0]
        width = self.num_tokens_per_req
        for slot in self.slots.values():
            raw, padded = (slot.rows(bs, bs * width) for bs in (raw_bs, padded_bs))
            slot.reset_padding(raw, padded)
            if slot.name in batch:
                slot.required()[:raw].copy_(batch[slot.name])
        if post_fill is not None:
            post_fill(self.slots)
        return {
            name: slot.required()[: slot.rows(padded_bs, padded_bs * width)]
            for name, slot in self.slots.items()
        }


def pad_to_bucket(raw_size: int, buckets: Sequence[int]) -> int:
    """The smallest captured size that holds the batch; `buckets` ascend.

    Raises:
        AssertionError: the batch is larger than every bucket.
    """
    assert raw_size <= buckets[-1], (
        f"size {raw_size} exceeds max captured bucket {buckets[-1]}; "
        f"can_run_graph should have rejected this batch"
    )
    return buckets[bisect.bisect_left(buckets, raw_size)]


def can_run_graph(bs: int, num_tokens_per_req: int | None, *, max_bs: int, captured: int) -> bool:
    """Whether a batch may replay graphs captured for `max_bs` requests of `captured` tokens.

    A width that is unset (None or -1) passes: not every path fills the field.
    """
    width = UNSET_WIDTH if num_tokens_per_req is None else num_tokens_per_req
    return bs <= max_bs and not (width > 0 and width != captured)


def draft_tokens_per_request(max_bs: int, max_num_tokens: int) -> int:
    """Width that a graph state is allocated for.

    Raises:
        AssertionError: tokens that are no multiple of the requests.
    """
    assert max_num_tokens % max_bs == 0, (
        f"max_num_tokens={max_num_tokens} must be divisible by max_bs={max_bs}"
    )
    return max_num_tokens // max_bs
