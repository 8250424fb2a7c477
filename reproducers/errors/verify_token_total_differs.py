"""A ragged verify layout states a total that is not the sum of its lengths.

Symptom
-------
`ValueError: total_verify_tokens 3 != sum(verify_lens_cpu) 2` while a layout is put together.

Mechanism
---------
A layout carries the lengths and their sum. The sum chooses the graph's tier and bounds the tokens
that are copied into it; the lengths say where each request's tokens are. If they disagree, tokens
would be left out or foreign ones taken in, so the layout refuses to exist.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import GRID, assembled, ragged_verify, starts
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
COMPUTE = "Compute the total from the lengths"
PLANNER = "Let the planner make the layout"
PADDED = "Give the padded size as `graph_num_tokens`"


def trigger(subject: Subject) -> None:
    """One request of two tokens, and a total of three."""
    subject.value("total_verify_tokens", 3)
    subject.value("verify_lens", [2])
    assembled(subject)([2], 3, 8)


def fix(subject: Subject) -> None:
    """The same length with its own sum."""
    layout = assembled(subject)([2], 2, 8)
    same(subject, "tokens", layout.total_verify_tokens, 2)
    same(subject, "starts", starts(layout), [0])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the layout."""
    assemble = assembled(subject)
    hold_page(
        subject,
        snippets,
        assemble,
        cases={
            "3 for [2]": ([2], 3, 8),
            "2 for [2]": ([2], 2, 8),
            "4 for [3, 2]": ([3, 2], 4, 8),
            "5 for [3, 2]": ([3, 2], 5, 8),
        },
        error=ValueError,
        text="total_verify_tokens 3 != sum(verify_lens_cpu) 2",
        rescued=(([2], 3, 8), 2),
        passed_on=([0, 2], 2, 8),
        names={"assemble": assemble, "verify_lens": [2], "num_tokens": 3},
        seen=lambda layout: layout.total_verify_tokens,
    )
    solutions(subject, snippets)

    same(subject, "tier-may-be-larger", assemble([2], 2, 8).graph_num_tokens, 8)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the layout: lengths 3 and 2, and a total of 8."""
    assemble = assembled(subject)

    def made(title: str | None) -> list[Any]:
        names = {"verify_lens": [3, 2], "total_verify_tokens": 8, "graph_num_tokens": 16}
        left = carried_out(snippets, title, **names) if title else names
        sizes = (left["total_verify_tokens"], left["graph_num_tokens"])
        return told(assemble(left["verify_lens"], *sizes))

    refused = "ValueError: total_verify_tokens 8 != sum(verify_lens_cpu) 5"
    for title, tier in ((COMPUTE, 16), (PADDED, 8)):
        tried(subject, title, "[3, 2] and 8 as they are", lambda: made(None), refused)
        case = "[3, 2] and 8: total, tier, starts"
        tried(subject, title, case, partial(made, title), [5, tier, [0, 3]])
    if subject.version is None:
        return  # the reference's planner takes no device

    def by_planner() -> list[Any]:
        names = {"RaggedVerifyLayout": ragged_verify(subject).RaggedVerifyLayout, "grid": GRID}
        names |= {"verify_lens": [3, 2], "device": subject.torch.device("cpu")}
        return told(carried_out(snippets, PLANNER, **names)["layout"])

    tried(subject, PLANNER, "[3, 2]: total, tier, starts", by_planner, [5, 8, [0, 3]])


def told(layout: Any) -> list[Any]:
    """Total, tier and start locations of a layout."""
    return [layout.total_verify_tokens, layout.graph_num_tokens, starts(layout)]
