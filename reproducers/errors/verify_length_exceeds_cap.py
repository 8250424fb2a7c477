"""A capped ragged layout has a request that verifies more tokens than the cap.

Symptom
-------
`ValueError: capped layout has a row exceeding cap=4: [5]` while a padded layout is made for a model
with linear attention.

Mechanism
---------
A layout without a cap may give leftover tokens of its tier to padding rows, or to the last request,
so a row can be longer than the verify window. Consumers with a dense `[requests, N]` buffer, such
as the states of linear attention, cannot hold such a row: they ask for a layout whose rows are at
most `cap = N`. The layout checks that this promise is kept.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import assembled, starts
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
REFERENCE = True
CUT = "Cut rows to the cap"
RAISE = "Raise the cap to the longest row"
NO_CAP = "Leave the cap out"


def trigger(subject: Subject) -> None:
    """One request of five tokens under a cap of four."""
    subject.value("cap", 4)
    subject.value("verify_lens", [5])
    assembled(subject)([5], 5, 8, 4)


def fix(subject: Subject) -> None:
    """The same request cut to the cap; leftover tokens of the tier belong to nobody."""
    layout = assembled(subject)([4], 4, 8, 4)
    same(subject, "cap", layout.cap, 4)
    same(subject, "tokens", layout.total_verify_tokens, 4)
    same(subject, "tier", layout.graph_num_tokens, 8)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the layout."""
    assemble = assembled(subject)
    hold_page(
        subject,
        snippets,
        assemble,
        cases={
            "[5] under 4": ([5], 5, 8, 4),
            "[4] under 4": ([4], 4, 8, 4),
            "[1, 6] under 4": ([1, 6], 7, 8, 4),
            "[5] without a cap": ([5], 5, 8, None),
        },
        error=ValueError,
        text="capped layout has a row exceeding cap=4",
        rescued=(([1, 6], 7, 8, 4), [0, 1]),
        passed_on=([0, 2], 2, 8, 4),
        names={"assemble": assemble, "verify_lens": [1, 6], "cap": 4},
        seen=starts,
    )
    solutions(subject, snippets)

    same(subject, "no-cap-no-limit", assemble([7], 7, 8, None).total_verify_tokens, 7)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the layout: two requests of 1 and 6 under a cap of 4."""
    assemble = assembled(subject)

    def made(title: str | None) -> list[Any]:
        names: dict[str, Any] = {"verify_lens": [1, 6], "cap": 4}
        left = carried_out(snippets, title, **names) if title else names
        layout = assemble(left["verify_lens"], sum(left["verify_lens"]), 8, left["cap"])
        return [layout.verify_lens_cpu, layout.cap]

    tried(
        subject,
        CUT,
        "[1, 6] under 4 as they are",
        lambda: made(None),
        "ValueError: capped layout has a row exceeding cap=4...",
    )
    for title, lens, cap in ((CUT, [1, 4], 4), (RAISE, [1, 6], 6), (NO_CAP, [1, 6], None)):
        tried(subject, title, "[1, 6] under 4: lengths and cap", partial(made, title), [lens, cap])
