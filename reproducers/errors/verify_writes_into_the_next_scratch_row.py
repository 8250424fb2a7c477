"""A Triton verify has more draft tokens than the scratch has steps, and writes on.

Symptom
-------
Nothing is raised. With linear attention other requests of the batch, or the row behind them, get
states that are not theirs.

Mechanism
---------
A verify keeps one state for each draft token in a scratch of rows and steps. The Triton kernel
takes the number of tokens from the batch and the distance of rows from the scratch, and never
compares them: token number `steps` of a request lands at step 0 of the next row. Flashinfer's
wrapper has a check for the same fault and raises. This runs the release's own Triton kernel, on a
CPU in Triton's interpreter.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import KEY, REQUESTS, VALUE, VALUE_HEADS
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import apart, expected, recurrent_verify
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REAL = ("triton",)
TOKENS = 6


def written(subject: Subject) -> Any:
    """`run(steps)`: rows that a verify of six tokens by two requests wrote, and the scratch."""
    verify, torch = recurrent_verify(subject), subject.torch

    def run(steps: int) -> tuple[list[int], Any]:
        shape = (4, steps, VALUE_HEADS, VALUE, KEY)
        scratch = torch.full(shape, float("nan"), device=subject.device)
        verify(TOKENS, scratch=scratch)
        rows = (~scratch.flatten(1).isnan()).any(dim=1).nonzero().flatten().tolist()
        return rows, scratch

    return run


def trigger(subject: Subject) -> None:
    """Six draft tokens, and four steps in each row."""
    subject.value("draft_token_num", TOKENS)
    subject.value("scratch_steps", 4)
    rows, _ = written(subject)(4)
    subject.wrong_result(expected={"rows written": [0, 1]}, got={"rows written": rows})


def fix(subject: Subject) -> None:
    """The same verify with six steps; states against the reference."""
    rows, scratch = written(subject)(TOKENS)
    same(subject, "rows-written", rows, [0, 1])
    error = apart(scratch[:REQUESTS], expected(subject, TOKENS)[1])
    subject.check("states", error < 1e-3, got=error, expected="below 0.001 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel."""
    run = written(subject)

    def rows_written(scratch_steps: int, draft_token_num: int = TOKENS) -> list[int]:
        del draft_token_num  # the batch's own
        found: list[int] = expect(run(scratch_steps)[0], list(range(REQUESTS)))
        return found

    hold_page(
        subject,
        snippets,
        rows_written,
        cases={"4 steps": (4,), "6 steps": (6,), "7 steps": (7,), "5 steps": (5,)},
        error=WrongResultError,
        text="expected [0, 1]",
        rescued=((4,), [0, 1]),
        passed_on=lambda: int("no number"),
        names={"rows_written": rows_written, "draft_token_num": TOKENS},
    )
    _, scratch = run(4)
    states = expected(subject, TOKENS)[1]
    foreign = apart(scratch[2, :2], states[1, 4:])
    same(subject, "next-row-holds-the-overflow", foreign < 1e-3, True)
