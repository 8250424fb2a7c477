"""Dynamic speculation: draft steps chosen by batch size and by how many drafts were accepted.

Each candidate number of steps needs its own graphs and buffers, built before it is used. Zero
steps still verify: a tree of the root alone keeps `spec_info` and every width consistent.
"""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from reproducers.reference.metadata import VerifyInput


def candidate_steps_by_bs(config: Mapping[str, Mapping[str, Any]]) -> dict[int, list[int]]:
    """Candidate steps of each batch-size slot: keys are integers as strings.

    Raises:
        ValueError: a slot whose steps are no non-empty list of non-negative integers, or no slot.
    """
    slots = {}
    for key, entry in config.items():
        if not key.isdigit():
            continue
        steps = entry.get("candidate_steps")
        if (
            not isinstance(steps, list)
            or not steps
            or not all(isinstance(s, int) and s >= 0 for s in steps)
        ):
            raise ValueError(
                f"BS {key}: candidate_steps must be a list of non-negative ints, got {steps!r}"
            )
        slots[int(key)] = sorted(set(steps))
    if not slots:
        raise ValueError(
            "speculative_adaptive_config must contain at least one integer-string "
            'BS key, e.g. {"1": {"candidate_steps": [1,3,7]}}. '
            f"Got keys: {list(config.keys())}"
        )
    return slots


def check_start_step(speculative_num_steps: int, candidate_steps: Sequence[int]) -> None:
    """The configured steps are one of the candidates.

    Raises:
        ValueError: they are not.
    """
    if speculative_num_steps not in candidate_steps:
        raise ValueError(
            f"--speculative-num-steps={speculative_num_steps} "
            f"is not in the adaptive config candidate_steps {candidate_steps}. "
            "Pass one of those values."
        )


@dataclass(slots=True)
class AdaptiveSlot:
    """Steps for one range of batch sizes, moved by a running mean of accepted drafts.

    Attributes:
        candidate_steps: ascending.
        current_steps: one of them.
        ema_accept_len: running mean of accepted drafts.
        ema_alpha: weight of a new batch.
    """

    candidate_steps: list[int]
    current_steps: int
    ema_alpha: float = 0.2
    ema_accept_len: float = field(init=False)

    def __post_init__(self) -> None:
        """Start from a mean that neither raises nor lowers the steps."""
        self.ema_accept_len = float(self.current_steps - 1)

    def update(self, num_correct_drafts_per_req: Sequence[int]) -> bool:
        """Take in one verify; True if the steps changed.

        Down while the mean stays half a draft below the next lower candidate, else up while it
        exceeds the current one less half a draft. From zero steps the smallest is tried again.
        """
        if not num_correct_drafts_per_req:
            return False
        before = self.current_steps
        index = self.candidate_steps.index(before)
        if before == 0:
            index = min(index + 1, len(self.candidate_steps) - 1)
            self.ema_accept_len = max(self.ema_accept_len, float(self.candidate_steps[index] - 1))
        else:
            mean = sum(num_correct_drafts_per_req) / len(num_correct_drafts_per_req)
            self.ema_accept_len += self.ema_alpha * (mean - self.ema_accept_len)
            index = self._next_index(index)
        self.current_steps = self.candidate_steps[index]
        return self.current_steps != before

    def _next_index(self, index: int) -> int:
        steps, start = self.candidate_steps, index
        while index > 0:
            lower = steps[index - 1]
            if self.ema_accept_len > (0.5 if lower == 0 else lower - 0.5) - 0.25:
                break
            index -= 1
        if index == start:
            while index < len(steps) - 1 and self.ema_accept_len > steps[index] - 0.5:
                index += 1
        return index


def slot_for_batch(slots: Mapping[int, Any], batch_size: int) -> int:
    """The largest slot key that does not exceed the batch size, else the smallest key."""
    keys = sorted(slots)
    return keys[max(0, bisect.bisect_right(keys, batch_size) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRuntimeState:
    """What one number of steps needs at run time; a switch swaps all of it at once."""

    speculative_num_steps: int
    speculative_num_draft_tokens: int


class AdaptiveController:
    """Holds a runtime state for each candidate and activates one.

    Args:
        apply_runtime_state: told of every switch.
    """

    def __init__(self, apply_runtime_state: Callable[[SpecRuntimeState], None]) -> None:
        self._apply = apply_runtime_state
        self._states: dict[int, SpecRuntimeState] = {}

    def init_states(self, candidate_steps: Sequence[int]) -> None:
        """Build the state of every candidate: a chain of steps + 1 nodes."""
        for steps in candidate_steps:
            self._states[steps] = SpecRuntimeState(
                speculative_num_steps=steps, speculative_num_draft_tokens=steps + 1
            )

    def activate(self, speculative_num_steps: int) -> None:
        """Switch.

        Raises:
            ValueError: no state was built for these steps.
        """
        state = self._states.get(speculative_num_steps)
        if state is None:
            raise ValueError(f"Missing adaptive runtime state for steps={speculative_num_steps}")
        self._apply(state)


class SharedLogitsBuffer:
    """One float32 logits buffer `[max_rows, vocab]` that all graphs write to.

    Args:
        max_rows: `max_bs * (largest candidate + 1)`; the startup width alone is too small.
    """

    def __init__(self, *, max_rows: int, device: torch.device | str = "cpu") -> None:
        self.max_rows = max_rows
        self.device = torch.device(device)
        self._buffers: dict[int, Tensor] = {}

    def get_logits_buffer(self, vocab_size: int, *, rows: int) -> Tensor:
        """The first `rows` rows.

        Raises:
            AssertionError: more rows than the buffer was sized for.
        """
        assert rows <= self.max_rows, (
            f"shared logits buffer holds {self.max_rows} rows but caller "
            f"needs {rows} (vocab_size={vocab_size})"
        )
        if vocab_size not in self._buffers:
            self._buffers[vocab_size] = torch.zeros(self.max_rows, vocab_size, device=self.device)
        return self._buffers[vocab_size][:rows]


def root_only_verify_input(bs: int, *, device: torch.device | str = "cpu") -> VerifyInput:
    """The verify input of zero draft steps: one node a request, visible to itself."""
    return VerifyInput(
        draft_token_num=1,
        tree_topk=1,
        custom_mask=torch.ones(bs, dtype=torch.bool, device=device),
        num_tokens_per_req=1,
    )
