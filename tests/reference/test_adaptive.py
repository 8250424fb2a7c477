"""Dynamic speculation: steps follow acceptance, and nothing is used that was not built."""

from typing import Any

import pytest
import torch

from reproducers.reference.adaptive import (
    AdaptiveController,
    AdaptiveSlot,
    SharedLogitsBuffer,
    SpecRuntimeState,
    candidate_steps_by_bs,
    check_start_step,
    root_only_verify_input,
    slot_for_batch,
)
from reproducers.reference.metadata import ForwardBatch, ForwardMode, build_extend_metadata


def test_steps_rise_while_drafts_are_accepted_and_fall_when_they_are_not() -> None:
    slot = AdaptiveSlot([1, 3, 7], current_steps=3)
    while slot.current_steps < 7:
        slot.update([slot.current_steps] * 4)
    for _ in range(60):
        slot.update([0, 0])
    assert slot.current_steps == 1
    assert not slot.update([])


def test_a_steady_middle_keeps_the_steps() -> None:
    slot = AdaptiveSlot([1, 3, 7], current_steps=3)
    assert not any(slot.update([2, 2]) for _ in range(50))
    assert slot.current_steps == 3


@pytest.mark.parametrize(
    ("steps", "accepted", "expected"),
    [(3, [1, 0, 0], 3), (3, [1, 0, 0, 0, 0], 1), (1, [1, 0], 1), (1, [1, 1, 0], 3)],
)
def test_steps_change_half_a_draft_off_a_candidate_and_fall_a_quarter_later(
    steps: int, accepted: list[int], expected: int
) -> None:
    slot = AdaptiveSlot([1, 3], current_steps=steps, ema_alpha=1.0)
    assert slot.update(accepted) == (steps != expected)
    assert slot.current_steps == expected


def test_from_zero_steps_the_smallest_is_tried_again() -> None:
    slot = AdaptiveSlot([0, 1, 3], current_steps=1)
    for _ in range(60):
        if slot.update([0]):
            break
    assert slot.current_steps == 0
    assert slot.update([0])
    assert slot.current_steps == 1


def test_batches_go_to_the_largest_slot_below_them() -> None:
    slots = candidate_steps_by_bs(
        {"8": {"candidate_steps": [3, 1, 3]}, "1": {"candidate_steps": [7]}, "ema_alpha": {}}
    )
    assert slots == {8: [1, 3], 1: [7]}
    assert [slot_for_batch(slots, n) for n in (0, 1, 7, 8, 99)] == [1, 1, 1, 8, 8]


@pytest.mark.parametrize("steps", [[-1], [], "3", [1.5], None])
def test_candidate_steps_are_refused_with_the_engines_message(steps: Any) -> None:
    with pytest.raises(ValueError, match=r"^BS 4: candidate_steps must be a list of non-negative "):
        candidate_steps_by_bs({"4": {"candidate_steps": steps}})


def test_a_config_without_a_batch_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must contain at least one integer-string BS key, e.g. "):
        candidate_steps_by_bs({"x": {"candidate_steps": [1]}})


def test_the_start_step_is_a_candidate() -> None:
    check_start_step(3, [0, 1, 3])
    with pytest.raises(ValueError, match=r"^--speculative-num-steps=5 is not in the adaptive conf"):
        check_start_step(5, [0, 1, 3])


def test_only_states_that_were_built_are_activated() -> None:
    active: list[SpecRuntimeState] = []
    controller = AdaptiveController(active.append)
    controller.init_states([0, 3])
    controller.activate(3)
    assert [(s.speculative_num_steps, s.speculative_num_draft_tokens) for s in active] == [(3, 4)]
    with pytest.raises(ValueError, match=r"^Missing adaptive runtime state for steps=7$"):
        controller.activate(7)


def test_a_shared_buffer_sized_at_startup_does_not_hold_the_widest_candidate() -> None:
    startup, widest = (SharedLogitsBuffer(max_rows=8 * (steps + 1)) for steps in (3, 7))
    assert widest.get_logits_buffer(5, rows=64).shape == (64, 5)
    assert (
        widest.get_logits_buffer(5, rows=8).data_ptr()
        == widest.get_logits_buffer(5, rows=1).data_ptr()
    )
    with pytest.raises(
        AssertionError, match=r"^shared logits buffer holds 32 rows but caller needs"
    ):
        startup.get_logits_buffer(5, rows=64)


def test_zero_steps_still_verify_the_root() -> None:
    batch = ForwardBatch(
        forward_mode=ForwardMode.TARGET_VERIFY,
        seq_lens=torch.tensor([5, 9]),
        spec_info=root_only_verify_input(2),
    )
    metadata = build_extend_metadata(batch)
    assert metadata.seq_lens.tolist() == [6, 10]
    assert metadata.tree_mask is None
