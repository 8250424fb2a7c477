"""The KDA kernel gets a state pool whose states do not lie compactly in memory.

Symptom
-------
`ValueError: recurrent_kda state inner strides must be compact (V*K, K, 1)=(1024, 32, 1); got (1024,
1, 32) (only the slot stride may be non-compact)`.

Mechanism
---------
The kernel was compiled for states whose keys lie next to each other, rows of keys behind each
other, heads behind each other. Only the distance from slot to slot is read from the tensor. A
transposed pool, or one sliced out of a wider buffer, has the same shape and other strides; the
kernel would read foreign numbers without an error, so the wrapper compares the strides first.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.kda import DIM, HEADS, REQUESTS
from reproducers.calls.kda_states import ENTRY, next_token, state_pool
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
IN_THIS_ORDER = "Allocate the pool in this order"
NO_TRANSPOSE = "Do not transpose"
GAP = "Put the gap between slots"


def trigger(subject: Subject) -> None:
    """A pool with keys and values swapped."""
    states = state_pool(subject).transpose(-1, -2)
    subject.value("strides", list(states.stride()))
    next_token(subject)(states)


def fix(subject: Subject) -> None:
    """The same pool as it was allocated."""
    out = next_token(subject)(state_pool(subject))
    same(subject, "outputs", list(out.shape), [REQUESTS, HEADS, DIM])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel's wrapper."""
    step, pool = next_token(subject), state_pool(subject)
    torch = subject.torch
    wider = torch.zeros(5, HEADS, DIM, 2 * DIM, dtype=torch.bfloat16)[..., :DIM]
    hold_page(
        subject,
        snippets,
        step,
        cases={
            "transposed": (pool.transpose(-1, -2),),
            "as allocated": (pool,),
            "out of a wider buffer": (wider,),
            "slots apart": (state_pool(subject, slot_stride=2 * ENTRY),),
        },
        error=ValueError,
        text="recurrent_kda state inner strides must be compact (V*K, K, 1)=(1024, 32, 1)",
        rescued=((wider,), [REQUESTS, HEADS, DIM]),
        passed_on=(pool[0],),
        names={"step": step, "states": wider},
        seen=lambda out: list(out.shape),
    )
    apart = state_pool(subject, slot_stride=2 * ENTRY)
    same(subject, "slots-may-lie-apart", list(step(apart).shape), [REQUESTS, HEADS, DIM])
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: the pool that it makes goes to the kernel's wrapper."""
    step, torch = next_token(subject), subject.torch

    def stepped(given: Mapping[str, str], title: str, **names: Any) -> list[int]:
        sizes = {"slots": 5, "num_v_heads": HEADS, "head_v_dim": DIM, "head_k_dim": DIM}
        states = carried_out(given, title, torch=torch, device="cpu", **sizes, **names)["states"]
        return list(step(states).shape)

    outputs = [REQUESTS, HEADS, DIM]
    refused = "ValueError: recurrent_kda state inner strides must be compact (V*K, K, 1)..."
    swapped = altered(snippets, IN_THIS_ORDER, "device=device)", "device=device).transpose(-1, -2)")
    tried(subject, IN_THIS_ORDER, "outputs", lambda: stepped(snippets, IN_THIS_ORDER), outputs)
    tried(
        subject,
        IN_THIS_ORDER,
        "keys and values swapped",
        lambda: stepped(swapped, IN_THIS_ORDER),
        refused,
    )

    kept = {"keys_by_values": state_pool(subject)}
    view = altered(snippets, NO_TRANSPOSE, ".contiguous()", "")
    tried(
        subject, NO_TRANSPOSE, "outputs", lambda: stepped(snippets, NO_TRANSPOSE, **kept), outputs
    )
    tried(subject, NO_TRANSPOSE, "not copied", lambda: stepped(view, NO_TRANSPOSE, **kept), refused)

    wide = {"buffer": torch.zeros(5, 2 * ENTRY, dtype=torch.bfloat16)}
    tried(subject, GAP, "outputs", lambda: stepped(snippets, GAP, **wide), outputs)
    rows = torch.zeros(5, HEADS, DIM, 2 * DIM, dtype=torch.bfloat16)[..., :DIM]
    tried(subject, GAP, "the gap between rows of keys", lambda: list(step(rows).shape), refused)
