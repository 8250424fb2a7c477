"""A ragged verify batch has more tokens than the largest captured graph.

Symptom
-------
`ValueError: total 9 exceeds max grid tier 8; the caller must reject this batch before selecting a
graph tier`.

Mechanism
---------
Graphs are captured for some token counts, the tiers of a grid. A batch takes the smallest tier that
holds it. Above the largest there is none; such a batch has to run without a graph, and whether it
does is decided before, in `can_run_graph`. Reaching this line means that the decision was left out.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import planned, ragged_verify
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """Nine tokens for graphs of four and eight."""
    subject.value("total", 9)
    subject.value("grid", [4, 8])
    planned(subject)([4, 5], [4, 8])


def fix(subject: Subject) -> None:
    """The same batch with a graph of sixteen tokens captured as well."""
    layout = planned(subject)([4, 5], [4, 8, 16])
    same(subject, "tier", layout.graph_num_tokens, 16)
    same(subject, "tokens", layout.total_verify_tokens, 9)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the choice of a tier."""
    choose = ragged_verify(subject).round_up_grid
    hold_page(
        subject,
        snippets,
        choose,
        cases={
            "9 of [4, 8]": (9, [4, 8]),
            "8 of [4, 8]": (8, [4, 8]),
            "1 of [4, 8]": (1, [4, 8]),
            "17 of [16]": (17, [16]),
        },
        error=ValueError,
        text="total 9 exceeds max grid tier 8",
        rescued=((9, [4, 8]), None),
        passed_on=(9, []),
        names={"choose": choose, "total": 9},
    )
    same(
        subject,
        "smallest-that-holds",
        [choose(n, [4, 8, 16]) for n in (1, 4, 5, 16)],
        [4, 4, 8, 16],
    )
