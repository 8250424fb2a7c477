"""Extend metadata: lengths of verify batches come from spec_info alone."""

import pytest
import torch

from reproducers.reference.metadata import (
    ForwardBatch,
    ForwardMode,
    VerifyInput,
    build_extend_metadata,
)

VERIFY = ForwardMode.TARGET_VERIFY


def verify_batch(seq_lens: list[int], **spec: object) -> ForwardBatch:
    return ForwardBatch(
        forward_mode=VERIFY,
        seq_lens=torch.tensor(seq_lens, dtype=torch.int64),
        spec_info=VerifyInput(**spec),  # type: ignore[arg-type]  # keyword arguments of the case
    )


def test_lengths_of_a_verify_batch_grow_by_its_draft_tokens() -> None:
    seq_lens, extend, start, mask = build_extend_metadata(
        verify_batch([5, 0, 9], draft_token_num=3)
    )
    assert seq_lens.tolist() == [8, 3, 12]
    assert extend is not None
    assert start is not None
    assert extend.tolist() == [3, 3, 3]
    assert start.tolist() == [0, 3, 6]
    assert (seq_lens.dtype, extend.dtype, start.dtype) == (torch.int64, torch.int32, torch.int32)
    assert mask is None


@pytest.mark.parametrize(("topk", "kept"), [(1, False), (4, True), (-1, True)])
def test_the_mask_is_kept_for_trees_only(topk: int, kept: bool) -> None:  # noqa: FBT001  # a parameter of the test
    mask = torch.ones(4, dtype=torch.bool)
    batch = verify_batch([5], draft_token_num=2, tree_topk=topk, custom_mask=mask)
    assert (build_extend_metadata(batch).tree_mask is mask) == kept


def test_an_empty_mask_is_no_mask() -> None:
    empty = torch.ones(0, dtype=torch.bool)
    batch = verify_batch([5], draft_token_num=2, tree_topk=4, custom_mask=empty)
    assert build_extend_metadata(batch).tree_mask is None


def test_an_empty_verify_batch_has_no_lengths() -> None:
    metadata = build_extend_metadata(verify_batch([], draft_token_num=3))
    assert [x.tolist() for x in metadata[:3] if x is not None] == [[], [], []]


def test_other_modes_pass_their_fields_through() -> None:
    fields = {name: torch.tensor([1, 2]) for name in ("extend_seq_lens", "extend_start_loc")}
    batch = ForwardBatch(forward_mode=ForwardMode.EXTEND, seq_lens=torch.tensor([4, 5]), **fields)
    metadata = build_extend_metadata(batch)
    assert metadata.seq_lens is batch.seq_lens
    assert metadata.extend_seq_lens is fields["extend_seq_lens"]
    assert metadata.extend_start_loc is fields["extend_start_loc"]


def test_a_verify_batch_without_spec_info_is_refused() -> None:
    batch = ForwardBatch(forward_mode=VERIFY, seq_lens=torch.tensor([3]))
    with pytest.raises(RuntimeError, match=r"^spec_info is unset in TARGET_VERIFY mode; the exte"):
        build_extend_metadata(batch)


def test_no_draft_token_at_all_is_refused() -> None:
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        build_extend_metadata(verify_batch([3], draft_token_num=0))
