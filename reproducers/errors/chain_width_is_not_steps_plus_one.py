"""A chain of drafts has another number of verify tokens than its steps and the root.

Symptom
-------
`AssertionError: topk=1 requires speculative_num_draft_tokens == speculative_num_steps + 1, got 8
and 3` while a draft worker is built or its steps are changed.

Mechanism
---------
With one beam the draft is a chain: its tables are known without scores and are made once. A verify
of it has one token a step and one for the root. Argument resolution sets the number so; code that
changes steps or tokens later, as adaptive speculation does, can break it, and then the tables would
not fit the batch.
"""

from collections.abc import Mapping

from reproducers.calls.eagle import chain_tables
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """Three steps and eight tokens."""
    subject.value("speculative_num_steps", 3)
    subject.value("speculative_num_draft_tokens", 8)
    chain_tables(subject)(3, 8)


def fix(subject: Subject) -> None:
    """The same steps with four tokens: each node hangs under the one before."""
    parents, selected = chain_tables(subject)(3, 4)
    same(subject, "parents", parents, [-1, 0, 1])
    same(subject, "selected", selected, [0, 1, 2])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the worker's tables."""
    tables = chain_tables(subject)
    hold_page(
        subject,
        snippets,
        tables,
        cases={
            "3 steps, 8 tokens": (3, 8),
            "3 steps, 4 tokens": (3, 4),
            "3 steps, 3 tokens": (3, 3),
            "1 step, 2 tokens": (1, 2),
        },
        error=AssertionError,
        text="speculative_num_draft_tokens == speculative_num_steps + 1, got 8 and 3",
        rescued=((3, 8), [[-1, 0, 1], [0, 1, 2]]),
        passed_on=("three", 4),
        names={"tables": tables, "steps": 3},
        seen=list,
    )
    same(subject, "one-step-has-no-parents", list(tables(1, 2)), [[], [0]])
