"""A replay commit folds more rows than the ring has, and reads those of another head.

Symptom
-------
Nothing is raised. With replay, states of requests that accepted many tokens go astray.

Mechanism
---------
A commit replays `accept_lens` rows of the slot's ring into its state. Verification drops rows that
do not fit the ring; the commit does not know. It reads row number `length` where the next head's
row 0 stands, and folds it. This runs the release's own Triton kernel, on a CPU in Triton's
interpreter.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import ROWS
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import apart, fold, folded
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
REAL = ("triton",)
SLOTS = [2, 1]
LONGER = "Make the ring at least as long as the draft"
COMPARE = "Compare before the commit"


def trigger(subject: Subject) -> None:
    """Two requests, the first with one accepted token more than the ring has rows."""
    subject.value("accept_lens", [ROWS + 1, 3])
    subject.value("ring rows", ROWS)
    got = fold(subject)(SLOTS, [ROWS + 1, 3], null_block_id=-1)
    right = folded(subject, SLOTS, [ROWS, 3])  # all that was kept
    subject.wrong_result(
        expected={"state error": 0.0}, got={"state error": apart(got[2], right[2])}
    )


def fix(subject: Subject) -> None:
    """The same requests with the first limited to the ring; states against the reference."""
    got = fold(subject)(SLOTS, [ROWS, 3], null_block_id=-1)
    error = apart(got, folded(subject, SLOTS, [ROWS, 3]))
    subject.check("states", error < 1e-3, got=error, expected="below 0.001 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel."""
    commit = fold(subject)

    def error_of(accept_len: int, rows: int = ROWS) -> float:
        right = folded(subject, SLOTS, [min(accept_len, rows), 3])
        got = commit(SLOTS, [accept_len, 3], null_block_id=-1)
        found: float = expect(apart(got, right), 0.0)
        return found

    hold_page(
        subject,
        snippets,
        error_of,
        cases={
            "one more than the ring": (ROWS + 1,),
            "all of the ring": (ROWS,),
            "two": (2,),
        },
        error=WrongResultError,
        text="expected 0.0",
        rescued=((ROWS + 1,), 0.0),
        passed_on=lambda: int("no number"),
        names={"error_of": error_of, "accept_len": ROWS + 1, "rows": ROWS},
    )
    solutions(subject, snippets)

    whole = commit(SLOTS, [ROWS, 3], null_block_id=-1)
    same(
        subject,
        "other-slots-are-untouched",
        bool((whole[0] == folded(subject, SLOTS, [1, 1])[0]).all()),
        True,
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the kernel: states against the reference."""
    commit, torch = fold(subject), subject.torch

    def error_of(accept_lens: list[int], rows: int) -> float:
        got = commit(SLOTS, accept_lens, null_block_id=-1, rows=rows)
        kept = [min(length, rows) for length in accept_lens]
        return apart(got, folded(subject, SLOTS, kept, rows))

    def longer(draft_token_num: int) -> list[float]:
        rows = carried_out(snippets, LONGER, draft_token_num=draft_token_num)["max_cache_len"]
        return [rows, error_of([draft_token_num, 3], rows)]

    for drafted, rows in ((4, 8), (ROWS + 1, 32)):
        case = f"{drafted} draft tokens, all accepted: rows, error of the states"
        tried(subject, LONGER, case, partial(longer, drafted), [rows, 0.0])
    short = error_of([ROWS + 1, 3], ROWS) > 0
    tried(subject, LONGER, "9 in a ring of 8 rows: wrong states", lambda: short, expected=True)

    def compared(accept_lens: list[int]) -> float:
        names = {"accept_lens": torch.tensor(accept_lens), "max_cache_len": ROWS}
        carried_out(snippets, COMPARE, **names)
        return error_of(accept_lens, ROWS)

    tried(subject, COMPARE, "8 accepted in 8 rows", lambda: compared([ROWS, 3]), 0.0)
    tried(subject, COMPARE, "9 in 8 rows", lambda: compared([ROWS + 1, 3]), "AssertionError: ")
