"""Adaptive speculation switches to a number of steps for which nothing was built.

Symptom
-------
`ValueError: Missing adaptive runtime state for steps=5`, at startup or at a later switch.

Mechanism
---------
Graphs and buffers depend on the number of draft steps, so a complete set, the runtime state, is
built at startup for each candidate of the adaptive configuration. A switch swaps in such a state.
Steps that are no candidate have none: the start step of the server, or one that a policy of one's
own asks for.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.adaptive import start
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """A server that starts with five steps, and candidates 1 and 3."""
    subject.value("candidate_steps", [1, 3])
    subject.value("speculative_num_steps", 5)
    start(subject)([1, 3], 5)


def fix(subject: Subject) -> None:
    """The same server with its start step among the candidates."""
    worker = start(subject)([1, 3, 5], 5)
    same(subject, "active-steps", worker.speculative_num_steps, 5)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the controller."""
    begin = start(subject)
    hold_page(
        subject,
        snippets,
        begin,
        cases={
            "5 of [1, 3]": ([1, 3], 5),
            "5 of [1, 3, 5]": ([1, 3, 5], 5),
            "0 of [1, 3]": ([1, 3], 0),
            "1 of [1, 3]": ([1, 3], 1),
        },
        error=ValueError,
        text="Missing adaptive runtime state for steps=5",
        rescued=(([1, 3], 5), 3),
        passed_on=lambda: int("no number"),
        names={"start": begin},
        seen=lambda worker: worker.speculative_num_steps,
    )
    got = [outcome(partial(begin, candidates, 0)) for candidates in ([1, 3], [0, 1])]
    zero_may_be_listed = subject.version is None or subject.version.release > (0, 5, 13)
    subject.check(
        "zero-steps-need-a-state-too",
        got[0].endswith("steps=0") and (got[1] == "returns") == zero_may_be_listed,
        got=got,
    )
