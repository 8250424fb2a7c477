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

import os
from collections.abc import Mapping
from typing import Any
from unittest import mock

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import planned, ragged_verify, starts
from reproducers.checks import same
from reproducers.solutions import carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
COUNT = "Count the anchor"
TAKE_OUT = "Take the request out of the batch"
STATIC = "Switch ragged verify off"


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
    solutions(subject, snippets)

    same(subject, "anchor-alone-is-enough", plan([1, 1]).total_verify_tokens, 2)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the planner."""
    plan = planned(subject)

    def lens(title: str, **names: Any) -> list[int]:
        made = plan(carried_out(snippets, title, **names)["verify_lens"])
        return list(made.verify_lens_cpu)

    tried(subject, COUNT, "drafts [0, 2]", lambda: lens(COUNT, draft_lens=[0, 2]), [1, 3])
    tried(subject, TAKE_OUT, "[0, 2]", lambda: lens(TAKE_OUT, verify_lens=[0, 2]), [2])
    refused = "ValueError: every request must verify the anchor..."
    for title in (COUNT, TAKE_OUT):
        tried(subject, title, "[0, 2] as they are", lambda: plan([0, 2]), refused)
    if subject.version is None:
        return  # the reference has no modes

    def mode(assignment: str) -> str:
        """What the release reads while the variable is set so."""
        with mock.patch.dict(os.environ, [tuple(assignment.split("="))]):
            return str(ragged_verify(subject).read_ragged_verify_mode().value)

    before, after = lines_of(code_of(snippets, STATIC))
    tried(subject, STATIC, "the mode of the - line", lambda: mode(before), "compact")
    tried(subject, STATIC, "the mode of the + line", lambda: mode(after), "static")
