"""A run that was asked for on a GPU is none where there is no GPU, whatever its step touches."""

import pytest
import torch

from app.runs import execute
from reproducers.protocol import Request, Step, Subject


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("step", ["trigger", "fix"])
def test_a_step_that_touches_no_device_is_skipped_all_the_same(step: Step) -> None:
    subject = Subject(name="reference")
    asked = Request(
        kind="reproducer", subject=subject, scratch="", slug="draft-step-exceeds-hash-key",
        step=step, device="cuda", sites=({"file": "x.py", "function": "f", "guardLines": [1]},),
    )  # fmt: skip
    result = execute(asked)
    assert (result.outcome, result.reason) == (
        "skipped",
        "torch sees no CUDA device on this machine",
    )
