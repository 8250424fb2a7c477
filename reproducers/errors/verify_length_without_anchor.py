"""A ragged verify layout has a request that verifies nothing.

Symptom
-------
`ValueError: every request must verify the anchor (verify_len >= 1), got [0, 2]` while a batch for
ragged verify is planned.

Mechanism
---------
A request's first verify token is its anchor: the last committed token, from which the target's next
token follows. A request that verifies no drafts still verifies its anchor and so makes progress as
in plain decoding. A length of 0 would give it no row, no output and no next token.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import planned, starts
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """Two requests; the first verifies nothing."""
    subject.value("verify_lens", [0, 2])
    planned(subject)([0, 2])


def fix(subject: Subject) -> None:
    """The same requests, the first with its anchor alone."""
    layout = planned(subject)([1, 2])
    subject.value("verify_lens", [1, 2])
    same(subject, "tokens", layout.total_verify_tokens, 3)
    same(subject, "tier", layout.graph_num_tokens, 4)
    same(subject, "starts", starts(layout), [0, 1])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the planner."""
    plan = planned(subject)
    hold_page(
        subject,
        snippets,
        plan,
        cases={
            "[0, 2]": ([0, 2],),
            "[1, 2]": ([1, 2],),
            "[3, -1]": ([3, -1],),
            "[1]": ([1],),
        },
        error=ValueError,
        text="every request must verify the anchor",
        rescued=(([0, 2],), [0, 1]),
        passed_on=([9, 9],),
        names={"plan": plan, "draft_lens": [0, 1]},
        seen=starts,
    )
    same(subject, "anchor-alone-is-enough", plan([1, 1]).total_verify_tokens, 2)
