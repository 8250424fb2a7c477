"""Adaptive speculation switches to a number of steps for which nothing was built.

Symptom
-------
`ValueError: Missing adaptive runtime state for steps=5`, at startup or at a later switch.

Mechanism
---------
Graphs and buffers depend on the number of draft steps, so a complete set, the runtime state, is
built at startup for each candidate of the adaptive configuration. A switch swaps in such a state.
Steps that are no candidate have none: those that a worker of one's own starts with, or that a
policy of one's own asks for. A launch line with such steps is refused before.
"""

import json
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from reproducers.calls.adaptive import ADAPTIVE, start, steps_of
from reproducers.calls.launch import line_of
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import carried_out, code_of, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
ADD = "Add the steps to the candidates"
CANDIDATE = "Start with a candidate"
CHOOSE = "Let a policy choose among `candidate_steps`"


def trigger(subject: Subject) -> None:
    """A worker that starts with five steps, and candidates 1 and 3."""
    subject.value("candidate_steps", [1, 3])
    subject.value("speculative_num_steps", 5)
    start(subject)([1, 3], 5)


def fix(subject: Subject) -> None:
    """The same worker with its start step among the candidates."""
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
    if subject.version is not None:
        solutions(subject, snippets)

    got = [outcome(partial(begin, candidates, 0)) for candidates in ([1, 3], [0, 1])]
    zero_may_be_listed = subject.version is None or subject.version.release > (0, 5, 13)
    subject.check(
        "zero-steps-need-a-state-too",
        got[0].endswith("steps=0") and (got[1] == "returns") == zero_may_be_listed,
        got=got,
    )


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the controller and with the release's own parser."""
    begin = start(subject)
    config = json.loads(code_of(snippets, ADD))
    short = {"1": {"candidate_steps": [1, 3]}}
    missing = "ValueError: Missing adaptive runtime state for steps=5"
    at_launch = "ValueError: --speculative-num-steps=5 is not in the adaptive config..."

    def active(candidates: list[int], steps: int) -> int:
        return int(begin(candidates, steps).speculative_num_steps)

    listed = config["1"]["candidate_steps"]
    tried(subject, ADD, "a worker that starts with 5 steps", partial(active, listed, 5), 5)
    tried(subject, ADD, "candidates 1 and 3 as they were", partial(active, [1, 3], 5), missing)
    line = line_of(ADAPTIVE | {"speculative_num_steps": 5})
    tried(subject, ADD, "a launch line with 5 steps", partial(steps_of, subject, line, config), 5)

    asked: dict[str, Any] = {
        "line": line,
        "seen": lambda line: steps_of(subject, line, short),
        "before": at_launch,
    }
    tried_change(subject, snippets, CANDIDATE, **asked, after=3)
    tried(subject, CANDIDATE, "a worker that starts with 3 steps", partial(active, [1, 3], 3), 3)

    for wanted, chosen in ((5, 3), (2, 1), (0, 1)):
        policy = SimpleNamespace(candidate_steps=[1, 3])
        steps = carried_out(snippets, CHOOSE, policy=policy, wanted=wanted)["steps"]
        case = f"{wanted} wanted of [1, 3]"
        tried(subject, CHOOSE, case, partial(active, [1, 3], steps), chosen)
    tried(subject, CHOOSE, "5 of [1, 3], not chosen", partial(active, [1, 3], 5), missing)
