"""Lengths of an extend batch; a TARGET_VERIFY batch derives them from its `spec_info`.

A verify batch carries no extend_* fields. Every request extends by exactly `draft_token_num`
tokens, and `seq_lens` grows by as many: the attention kernel finds the committed prefix by
subtraction, so lengths that were not extended make the prefix `draft_token_num` tokens short.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor


class ForwardMode(Enum):
    """What kind of forward pass a batch is for."""

    EXTEND = "extend"
    DECODE = "decode"
    TARGET_VERIFY = "target_verify"

    def is_target_verify(self) -> bool:
        """Whether the target model checks draft tokens in this pass."""
        return self is ForwardMode.TARGET_VERIFY


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyInput:
    """The `spec_info` of a verify batch.

    Attributes:
        draft_token_num: nodes per request, the root (bonus token) included.
        tree_topk: 1 for a chain, the beam width for an EAGLE tree, -1 for an irregular tree.
        custom_mask: flat bool, `bs * N * N` (QLEN_ONLY): row = query node, column = key node.
        num_tokens_per_req: width for which graphs are looked up; -1 means unset.
    """

    draft_token_num: int
    tree_topk: int = 1
    custom_mask: Tensor | None = None
    num_tokens_per_req: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardBatch:
    """The part of a forward batch that decides its lengths.

    Attributes:
        seq_lens: `[bs]` int64; committed tokens in a verify batch, prefix + extend otherwise.
        extend_seq_lens: `[bs]` int32, None in a verify batch.
        extend_start_loc: `[bs]` int32, None in a verify batch.
    """

    forward_mode: ForwardMode
    seq_lens: Tensor
    extend_seq_lens: Tensor | None = None
    extend_start_loc: Tensor | None = None
    spec_info: VerifyInput | None = None

    @property
    def batch_size(self) -> int:
        """Number of requests."""
        return self.seq_lens.shape[0]


class ExtendMetadata(NamedTuple):
    """What extend attention needs to find each request's tokens.

    Attributes:
        seq_lens: `[bs]` prefix + extend.
        extend_seq_lens: `[bs]` int32.
        extend_start_loc: `[bs]` int32, first row of the request in q.
        tree_mask: flat bool `bs * N * N`, or None where the causal mask is exact.
    """

    seq_lens: Tensor
    extend_seq_lens: Tensor | None
    extend_start_loc: Tensor | None
    tree_mask: Tensor | None


def build_extend_metadata(forward_batch: ForwardBatch) -> ExtendMetadata:
    """Lengths, start rows and mask of an extend pass.

    The mask is kept only where the drafts are no chain: with `tree_topk == 1` the built-in causal
    mask says the same.

    Raises:
        RuntimeError: a verify batch without `spec_info`, or with a draft_token_num of 0
            (`step must be nonzero`, from `torch.arange`).
    """
    if not forward_batch.forward_mode.is_target_verify():
        return ExtendMetadata(
            forward_batch.seq_lens,
            forward_batch.extend_seq_lens,
            forward_batch.extend_start_loc,
            None,
        )
    spec_info = forward_batch.spec_info
    if spec_info is None:
        raise RuntimeError(
            "spec_info is unset in TARGET_VERIFY mode; the extend_* "
            "metadata can only be derived from spec_info for "
            "speculative verify batches."
        )
    n = spec_info.draft_token_num
    bs, device = forward_batch.batch_size, forward_batch.seq_lens.device
    mask = spec_info.custom_mask
    keep_mask = spec_info.tree_topk != 1 and mask is not None and mask.numel() > 0
    return ExtendMetadata(
        seq_lens=forward_batch.seq_lens + n,
        extend_seq_lens=torch.full((bs,), n, dtype=torch.int32, device=device),
        extend_start_loc=torch.arange(0, bs * n, n, dtype=torch.int32, device=device),
        tree_mask=mask if keep_mask else None,
    )
