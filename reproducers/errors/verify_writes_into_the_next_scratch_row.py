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
from functools import cache, partial
from typing import Any

from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import KEY, REQUESTS, VALUE, VALUE_HEADS
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import apart, expected, recurrent_verify
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REAL = ("triton",)
WIDEST = "Allocate as many steps as the widest draft has tokens"
COMPARE = "Compare before the call"
FEWER = "Draft fewer tokens"
LINE = (
    "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT "
    "--speculative-num-steps 5 --speculative-eagle-topk 1 --speculative-num-draft-tokens 6"
)
TOKENS = 6


def written(subject: Subject) -> Any:
    """`run(steps)`: rows that a verify of six tokens by two requests wrote, and the scratch.

    `run(steps, tokens)` verifies another number of tokens.
    """
    verify, torch = recurrent_verify(subject), subject.torch

    def run(steps: int, tokens: int = TOKENS) -> tuple[list[int], Any]:
        shape = (4, steps, VALUE_HEADS, VALUE, KEY)
        scratch = torch.full(shape, float("nan"), device=subject.device)
        verify(tokens, scratch=scratch)
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
    solutions(subject, snippets, run)


def solutions(subject: Subject, snippets: Mapping[str, str], run: Any) -> None:
    """Each way out of the page, gone with the kernel: rows that a verify by two requests wrote."""
    own, foreign = [0, 1], [0, 1, 2]
    rows = cache(lambda steps, tokens: run(steps, tokens)[0])

    def allocated(code: Mapping[str, str]) -> list[int]:
        steps = carried_out(code, WIDEST, candidate_steps=[3, TOKENS - 1])["steps"]
        return list(rows(steps, TOKENS))

    one_less = altered(snippets, WIDEST, " + 1", "")
    tried(subject, WIDEST, "candidates of 3 and 5 steps", partial(allocated, snippets), own)
    tried(subject, WIDEST, "one step less", partial(allocated, one_less), foreign)

    def compared(steps: int) -> str:
        scratch = subject.torch.zeros(1, steps)
        names = {"intermediate_ssm": scratch, "draft_token_num": TOKENS}
        return outcome(lambda: carried_out(snippets, COMPARE, **names))

    refused = "RuntimeError: more draft tokens than scratch steps"
    tried(subject, COMPARE, "6 tokens, 4 steps", partial(compared, 4), refused)
    tried(subject, COMPARE, "6 tokens, 6 steps", partial(compared, TOKENS), "returns")

    def drafted(line: str) -> list[int]:
        """Rows that a verify of this line's width writes in a scratch of four steps."""
        width = resolved(subject, line, platform="h100")["speculative_num_draft_tokens"]
        return list(rows(4, width))

    asked: dict[str, Any] = {"line": LINE, "seen": drafted, "before": foreign, "after": own}
    tried_change(subject, snippets, FEWER, **asked)
