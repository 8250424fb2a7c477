"""A draft has another number of cache slots than its requests, beams and steps need.

Symptom
-------
`AssertionError: out_cache_loc.shape[0]=7 != batch_size * topk * num_steps = 2*2*2=8` at the first
draft.

Mechanism
---------
Every beam of every request writes one cache entry in each draft step. All slots are allocated
before the first step, as one flat table, request by request and beam by beam; the steps take their
part out of it. A table of another length has no such order, so the first step refuses it.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from reproducers.calls.eagle import draft_slots
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
AT_ONCE = "Allocate for all steps at once"
OF_THE_MOMENT = "Use the numbers of the moment"
CUT = "Cut surplus slots from the end"


def trigger(subject: Subject) -> None:
    """Seven slots for two requests, two beams and two steps."""
    subject.value("slots", 7)
    draft_slots(subject)(subject.torch.arange(7), 2, 2, 2)


def fix(subject: Subject) -> None:
    """The same draft with eight slots: each step gets four, one a beam."""
    steps = draft_slots(subject)(subject.torch.arange(8), 2, 2, 2)
    same(subject, "slots-by-step", steps.tolist(), [[0, 2, 4, 6], [1, 3, 5, 7]])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the split."""
    split, torch = draft_slots(subject), subject.torch
    hold_page(
        subject,
        snippets,
        split,
        cases={
            "7 of 8": (torch.arange(7), 2, 2, 2),
            "8 of 8": (torch.arange(8), 2, 2, 2),
            "9 of 8": (torch.arange(9), 2, 2, 2),
            "a chain of 3": (torch.arange(3), 1, 1, 3),
        },
        error=AssertionError,
        text="!= batch_size * topk * num_steps = 2*2*2=8",
        rescued=((torch.arange(9), 2, 2, 2), [[0, 2, 4, 6], [1, 3, 5, 7]]),
        passed_on=lambda: int("no number"),
        names={"split": split, "torch": torch, "bs": 2, "topk": 2, "steps": 2},
        seen=lambda steps: steps.tolist(),
    )
    same(
        subject,
        "a-beam-is-contiguous",
        split(torch.arange(6), 1, 2, 3).T.tolist(),
        [[0, 1, 2], [3, 4, 5]],
    )
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: two requests, two beams and two steps take its slots."""
    split, torch = draft_slots(subject), subject.torch

    def by_step(slots: Any) -> Any:
        return split(slots, 2, 2, 2).tolist()

    def left(given: Mapping[str, str], title: str, name: str) -> Any:
        names = {
            "worker": SimpleNamespace(topk=2, speculative_num_steps=2),
            "launched_steps": 3,
            "out_cache_loc": torch.arange(10),
        }
        return carried_out(given, title, batch_size=2, topk=2, num_steps=2, **names)[name]

    def allocated(given: Mapping[str, str], title: str) -> Any:
        return by_step(torch.arange(left(given, title, "num_slots")))

    eight = [[0, 2, 4, 6], [1, 3, 5, 7]]
    refused = "AssertionError: out_cache_loc.shape[0]={} != batch_size * topk * num_steps = 2*2*2=8"
    one = altered(snippets, AT_ONCE, " * num_steps", "")
    tried(subject, AT_ONCE, "slots by step", lambda: allocated(snippets, AT_ONCE), eight)
    tried(subject, AT_ONCE, "for one step", lambda: allocated(one, AT_ONCE), refused.format(4))
    launched = altered(snippets, OF_THE_MOMENT, "worker.speculative_num_steps", "launched_steps")
    tried(subject, OF_THE_MOMENT, "2 steps now", lambda: allocated(snippets, OF_THE_MOMENT), eight)
    tried(
        subject,
        OF_THE_MOMENT,
        "the 3 steps of the launch line",
        lambda: allocated(launched, OF_THE_MOMENT),
        refused.format(12),
    )
    tried(subject, CUT, "10 slots", lambda: by_step(left(snippets, CUT, "out_cache_loc")), eight)
    tried(subject, CUT, "10 slots, not cut", lambda: by_step(torch.arange(10)), refused.format(10))
