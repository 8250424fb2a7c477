"""A draft extend does not say how many tokens a request has, and rows are cut from the wrong end.

Symptom
-------
Nothing is raised. In a data-parallel group the drafts of some requests are bad after each verify,
and acceptance is low; alone, the same requests are fine.

Mechanism
---------
The ranks of a group pad their batches to one number of rows, and cut them back afterwards to
requests times `num_tokens_per_req`. That field starts as -1, which means unset. Nothing checks it:
two requests times -1 are minus two, and a slice up to -2 drops the *last* two rows instead of
keeping the first eight. The same -1 as a divisor makes -8 requests of 8 tokens.
"""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.amx import verify_input
from reproducers.calls.draft_extend import PADDED, REQUESTS, WIDTH, extend_input, rows_after
from reproducers.calls.objects import filled
from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
SET = "Set the width where the input is made"
REFUSE = "Refuse a width below 1"
REAL_ROWS = list(range(REQUESTS * WIDTH))


def trigger(subject: Subject) -> None:
    """Two requests of four tokens, padded to twelve rows; the width is unset."""
    subject.value("num_tokens_per_req", -1)
    subject.value("requests", REQUESTS)
    subject.value("padded rows", PADDED)
    subject.wrong_result(expected=REAL_ROWS, got=rows_after(subject)(-1))


def fix(subject: Subject) -> None:
    """The same batch with its width."""
    same(subject, "rows", rows_after(subject)(WIDTH), REAL_ROWS)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the batch."""
    cut = rows_after(subject)

    def rows(width: int) -> list[int]:
        found: list[int] = expect(cut(width), REAL_ROWS)
        return found

    hold_page(
        subject,
        snippets,
        rows,
        cases={"unset": (-1,), "0": (0,), "4": (WIDTH,), "3": (WIDTH - 1,)},
        error=WrongResultError,
        text=f"expected {REAL_ROWS}",
        rescued=((-1,), REAL_ROWS),
        passed_on=lambda: int("no number"),
        names={"rows": rows, "draft_token_num": WIDTH},
    )
    solutions(subject, snippets)

    same(subject, "starts-unset", extend_input(subject).num_tokens_per_req, -1)
    same(subject, "verify-fills-it-in", verify_input(subject, 1, WIDTH).num_tokens_per_req, WIDTH)
    same(subject, "a-negative-number-of-requests", 8 // -1, -8)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own input and batch."""
    rows, cls = rows_after(subject), type(extend_input(subject))

    def left(code: Mapping[str, str]) -> list[int]:
        names = {"EagleDraftExtendInput": partial(filled, cls), "hidden_states": None}
        made = carried_out(code, SET, **names, speculative_num_draft_tokens=WIDTH)
        return rows(made["draft_extend_input"].num_tokens_per_req)

    tried(subject, SET, "2 requests of 4: rows", lambda: left(snippets), REAL_ROWS)
    without = altered(snippets, SET, ", num_tokens_per_req=speculative_num_draft_tokens", "")
    cut = lambda: left(without) == REAL_ROWS  # noqa: E731  # one comparison
    tried(subject, SET, "all rows are there without it", cut, expected=False)

    def refused(spec_info: Any) -> str:
        batch = SimpleNamespace(spec_info=spec_info)
        return outcome(lambda: carried_out(snippets, REFUSE, forward_batch=batch))

    for case, spec_info, said in (
        ("a width of 4", extend_input(subject, WIDTH), "returns"),
        ("a width left as it comes", extend_input(subject), "AssertionError: "),
        ("no input", None, "returns"),
    ):
        tried(subject, REFUSE, case, partial(refused, spec_info), said)
