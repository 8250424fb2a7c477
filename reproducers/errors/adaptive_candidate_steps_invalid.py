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

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.adaptive import ADAPTIVE, config_file, read_config, steps_of
from reproducers.calls.launch import line_of
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import code_of, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.14,<=0.5.23"
REFERENCE = True
AS_LIST = "Write a list of integers"
ZERO = 'Write 0 for "do not speculate"'
NO_FILE = "Leave the file out"


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
    if subject.version is not None:
        solutions(subject, snippets)

    true = outcome(lambda: read({"1": {"candidate_steps": [True]}}))
    same(subject, "true-counts-as-one", true, "returns")


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: its file is read, and a launch line goes without one."""
    read = read_config(subject)
    refused = "ValueError: BS {}: candidate_steps must be a list of non-negative ints, got {}"
    listed, zero = (json.loads(code_of(snippets, title)) for title in (AS_LIST, ZERO))
    tried(subject, AS_LIST, "candidates of the file", partial(read, listed), [3])
    for steps in (3, "3"):
        plain = {"1": {"candidate_steps": steps}}
        tried(subject, AS_LIST, f"{steps!r} without brackets", partial(read, plain),
              refused.format(1, repr(steps)))  # fmt: skip
    tried(subject, ZERO, "candidates of the file", partial(read, zero), [0, 1, 3])
    off = {**zero, "64": {"candidate_steps": [-1]}}
    tried(subject, ZERO, "-1 in its place", partial(read, off), refused.format(64, "[-1]"))

    params = subject.load("sglang.srt.speculative.adaptive_spec_params")

    def steps_by_size(config: Mapping[str, Any]) -> dict[str, int]:
        policy = params.AdaptiveSpeculativeParams(3, config_file(config))
        return {str(size): policy.get_steps_for_batch(size) for size in (1, 32, 64, 128)}

    kept = {"1": 3, "32": 3, "64": 0, "128": 0}
    tried(subject, ZERO, "steps by batch size", partial(steps_by_size, zero), kept)
    alone = partial(steps_by_size, {"64": zero["64"]})
    tried(subject, ZERO, "steps by batch size, 64 alone", alone, dict.fromkeys(kept, 0))
    asked: dict[str, Any] = {
        "line": line_of(ADAPTIVE),
        "seen": lambda line: steps_of(subject, line, off),
        "before": refused.format(64, "[-1]"),
    }
    tried_change(subject, snippets, NO_FILE, **asked, after=3)
