"""A ragged verify layout has more tokens than the graph that is to hold them.

Symptom
-------
`ValueError: total_verify_tokens 9 exceeds graph_num_tokens 8` while a layout is put together.

Mechanism
---------
A captured graph runs with a fixed number of tokens, its tier. Fewer tokens are padded, more do not
fit. The planner chooses the smallest tier that holds the batch; a layout with a tier of its own is
checked when it is made.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import GRID, assembled, planned, ragged_verify
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
CHOOSE = "Choose the tier from the total"
PLANNER = "Let the planner make the layout"
FEWER = "Verify fewer tokens"


def trigger(subject: Subject) -> None:
    """Nine tokens in the tier of eight."""
    subject.value("total_verify_tokens", 9)
    subject.value("graph_num_tokens", 8)
    assembled(subject)([4, 5], 9, 8)


def fix(subject: Subject) -> None:
    """The same lengths in the next tier, which the planner would choose as well."""
    layout = assembled(subject)([4, 5], 9, 16)
    same(subject, "tokens", layout.total_verify_tokens, 9)
    same(subject, "planner-agrees", planned(subject)([4, 5]).graph_num_tokens, 16)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the layout."""
    assemble = assembled(subject)
    hold_page(
        subject,
        snippets,
        assemble,
        cases={
            "9 in 8": ([4, 5], 9, 8),
            "9 in 16": ([4, 5], 9, 16),
            "8 in 8": ([4, 4], 8, 8),
            "5 in 4": ([5], 5, 4),
        },
        error=ValueError,
        text="total_verify_tokens 9 exceeds graph_num_tokens 8",
        rescued=(([4, 5], 9, 8), 16),
        passed_on=([4, 5], 10, 16),
        names={"assemble": assemble, "verify_lens": [4, 5], "grid": GRID},
        seen=lambda layout: layout.graph_num_tokens,
    )
    solutions(subject, snippets)

    same(subject, "full-tier-is-taken", assemble([4, 4], 8, 8).graph_num_tokens, 8)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the layout: lengths 4 and 5, and a tier of 8."""
    assemble, module = assembled(subject), ragged_verify(subject)

    def made(title: str | None) -> list[Any]:
        names: dict[str, Any] = {"verify_lens": [4, 5], "graph_num_tokens": 8, "grid": GRID}
        names |= {"round_up_grid": module.round_up_grid}
        left = carried_out(snippets, title, **names) if title else names
        layout = assemble(left["verify_lens"], sum(left["verify_lens"]), left["graph_num_tokens"])
        return [layout.verify_lens_cpu, layout.graph_num_tokens]

    refused = "ValueError: total_verify_tokens 9 exceeds graph_num_tokens 8"
    for title, after in ((CHOOSE, [[4, 5], 16]), (FEWER, [[4, 4], 8])):
        tried(subject, title, "[4, 5] in 8 as they are", lambda: made(None), refused)
        tried(subject, title, "[4, 5] in 8: lengths and tier", partial(made, title), after)
    if subject.version is None:
        return  # the reference's planner takes no device

    def by_planner() -> list[Any]:
        names = {"RaggedVerifyLayout": module.RaggedVerifyLayout, "grid": GRID}
        names |= {"verify_lens": [4, 5], "device": subject.torch.device("cpu")}
        layout = carried_out(snippets, PLANNER, **names)["layout"]
        return [layout.verify_lens_cpu, layout.graph_num_tokens]

    tried(subject, PLANNER, "[4, 5]: lengths and tier", by_planner, [[4, 5], 16])
