"""The commit kernel of linear attention gets a pool whose states have gaps.

Symptom
-------
`ValueError: fused_mamba_state_scatter_with_mask: dst entry dims (dims 2..3) must be contiguous; got
shape=(1, 5, 2, 4) strides=(40, 8, 1, 2)` after the first verify.

Mechanism
---------
The kernel copies a state as one run of numbers: it takes the distances of layers and slots from the
tensor and counts through the rest. The inside of a slot must therefore lie without gaps, in the
order of its dimensions. A transposed pool, or a slice of a wider one, would be filled in the wrong
order, so the strides are compared first. Tensors here say that they are on a GPU, and the kernel's
launch is replaced by indexing.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.state_scatter import ENTRY, SLOTS, committed, empty_pool
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.18,<=0.5.23"
ORDER = "Allocate states in their own order"
GAPS = "Put gaps between slots"
COPY = "Commit into a copy"
STATES = [[1, 1, 0], [3, 0, 2]]
"""Slot, row and step of the two states that are committed."""


def trigger(subject: Subject) -> None:
    """A pool whose states are transposed."""
    rows, columns = ENTRY
    pool = subject.torch.zeros(1, SLOTS, columns, rows).transpose(-1, -2)
    subject.value("strides", list(pool.stride()))
    committed(subject)(dst=pool)


def fix(subject: Subject) -> None:
    """The same pool as it was allocated."""
    same(subject, "committed", committed(subject)(dst=empty_pool()), STATES)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    run, torch = committed(subject), subject.torch
    rows, columns = ENTRY
    transposed = torch.zeros(1, SLOTS, columns, rows).transpose(-1, -2)
    wider = torch.zeros(1, SLOTS, rows, 2 * columns)[..., :columns]
    apart = torch.zeros(1, SLOTS, 2, rows, columns)[:, :, 0]

    def commit(dst: object) -> list[list[int]]:
        return run(dst=dst)

    hold_page(
        subject,
        snippets,
        commit,
        cases={
            "transposed": (transposed,),
            "as allocated": (empty_pool(),),
            "out of a wider pool": (wider,),
            "slots apart": (apart,),
        },
        error=ValueError,
        text="must be contiguous; got shape=",
        rescued=((wider,), STATES),
        passed_on=(torch.zeros(1, SLOTS, 3, 3),),
        names={"commit": commit, "pool": transposed},
    )
    solutions(subject, snippets)

    same(subject, "slots-may-lie-apart", commit(apart), STATES)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the wrapper."""
    run, torch = committed(subject), subject.torch
    rows, columns = ENTRY

    def transposed() -> Any:
        return torch.zeros(1, SLOTS, columns, rows).transpose(-1, -2)

    def allocated(title: str) -> list[list[int]]:
        sizes = {"layers": 1, "slots": SLOTS, "state_shape": ENTRY, "device": "cpu"}
        return run(dst=carried_out(snippets, title, torch=torch, **sizes)["pool"])

    for title in (ORDER, GAPS):
        tried(subject, title, "committed states", partial(allocated, title), STATES)

    def by_copy() -> bool:
        """Whether the transposed pool holds afterwards what a contiguous one would."""
        pool, right = transposed(), empty_pool()
        names = {"scratch": None, "slots": None, "steps": None, "pool": pool}
        names["fused_mamba_state_scatter_with_mask"] = lambda dst, *_given: run(dst=dst)
        carried_out(snippets, COPY, **names)
        run(dst=right)
        return bool((pool == right).all() and right.any())

    tried(subject, COPY, "a transposed pool holds the same states", by_copy, expected=True)
    said = outcome(lambda: run(dst=transposed()))
    tried(subject, COPY, "without it", lambda: "must be contiguous" in said, expected=True)
