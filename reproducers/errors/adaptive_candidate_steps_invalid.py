"""The adaptive configuration lists draft steps that are no non-negative integers.

Symptom
-------
`ValueError: BS 1: candidate_steps must be a list of non-negative ints, got [-1]` while arguments
are resolved.

Mechanism
---------
`--speculative-adaptive-config` names a JSON file that maps batch sizes to candidates. For every
batch size `candidate_steps` must be a list, not empty, of integers from 0 on: each becomes a set of
graphs. A single number, a string, a fraction, a negative number or a missing key is refused, with
the batch size's key in front.
"""

from collections.abc import Mapping

from reproducers.calls.adaptive import read_config
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.14,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """A candidate of -1 step."""
    subject.value("candidate_steps", [-1])
    read_config(subject)({"1": {"candidate_steps": [-1]}})


def fix(subject: Subject) -> None:
    """The same configuration with 0 for "do not speculate", and a second batch size."""
    steps = read_config(subject)({"1": {"candidate_steps": [0, 3]}, "8": {"candidate_steps": [1]}})
    same(subject, "union-of-all-sizes", steps, [0, 1, 3])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the reader of the configuration."""
    read = read_config(subject)
    hold_page(
        subject,
        snippets,
        read,
        cases={
            "[-1]": ({"1": {"candidate_steps": [-1]}},),
            "[0, 3]": ({"1": {"candidate_steps": [0, 3]}},),
            "a number": ({"1": {"candidate_steps": 3}},),
            "an empty list": ({"1": {"candidate_steps": []}},),
            "no such key": ({"1": {}},),
            "a fraction": ({"1": {"candidate_steps": [1.5]}},),
            "a bad second size": ({"1": {"candidate_steps": [1]}, "8": {"candidate_steps": "3"}},),
            "another key beside": ({"1": {"candidate_steps": [1]}, "ema_alpha": 0.2},),
        },
        error=ValueError,
        text="BS 1: candidate_steps must be a list of non-negative ints",
        rescued=(({"1": {"candidate_steps": [-1, 3]}},), [3]),
        passed_on=({"x": {"candidate_steps": [1]}},),
        names={"read": read},
    )
    true = outcome(lambda: read({"1": {"candidate_steps": [True]}}))
    same(subject, "true-counts-as-one", true, "returns")
