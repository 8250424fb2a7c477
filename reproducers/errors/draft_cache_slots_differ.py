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

from reproducers.calls.eagle import draft_slots
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


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
