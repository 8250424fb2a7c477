"""The slots of a KDA state pool lie at distances that the kernel was not compiled for.

Symptom
-------
`ValueError: recurrent_kda state pool breaks the compiled stride contract: slot stride 2056 elements
must be a multiple of 16 and the base byte offset 0 a multiple of 32`.

Mechanism
---------
The kernel loads states in vectors. It was compiled under the promise that every slot begins at a
multiple of 16 elements from the first, and the first at a multiple of 32 bytes. A pool in a shared
buffer can break either: by padding slots to an odd size, or by beginning in the middle of the
buffer. Such a load would fault or read shifted numbers.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.kda import DIM, HEADS, REQUESTS
from reproducers.calls.kda_states import ENTRY, next_token, state_pool
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
PAD = "Pad each slot to a multiple of 16 elements"
BEGIN = "Begin at a multiple of 32 bytes"
BY_ITSELF = "Allocate the pool by itself"


def trigger(subject: Subject) -> None:
    """Slots eight elements apart from each other."""
    subject.value("slot_stride", ENTRY + 8)
    next_token(subject)(state_pool(subject, slot_stride=ENTRY + 8))


def fix(subject: Subject) -> None:
    """The same pool with slots sixteen elements apart."""
    out = next_token(subject)(state_pool(subject, slot_stride=ENTRY + 16))
    same(subject, "outputs", list(out.shape), [REQUESTS, HEADS, DIM])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel's wrapper."""
    step = next_token(subject)
    odd = state_pool(subject, slot_stride=ENTRY + 8)
    hold_page(
        subject,
        snippets,
        step,
        cases={
            "8 apart": (odd,),
            "16 apart": (state_pool(subject, slot_stride=ENTRY + 16),),
            "compact": (state_pool(subject),),
            "from byte 16 on": (state_pool(subject, offset=8),),
            "from byte 32 on": (state_pool(subject, offset=16),),
        },
        error=ValueError,
        text="recurrent_kda state pool breaks the compiled stride contract",
        rescued=((odd,), [REQUESTS, HEADS, DIM]),
        passed_on=(odd[0],),
        names={"step": step, "make": lambda gap: state_pool(subject, slot_stride=ENTRY + gap)},
        seen=lambda out: list(out.shape),
    )
    try:
        step(state_pool(subject, offset=8))
        got = "returns"
    except ValueError as error:
        got = str(error)
    subject.check("start-counts-too", "base byte offset 16 a multiple of 32" in got, got=got)
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: the pool that it makes goes to the kernel's wrapper."""
    step = next_token(subject)

    def stepped(states: Any) -> list[int]:
        return list(step(states).shape)

    def padded(elements: int) -> Any:
        stride = carried_out(snippets, PAD, entry_elements=elements)["slot_stride"]
        return state_pool(subject, slot_stride=stride)

    def begun(elements: int) -> Any:
        first = carried_out(snippets, BEGIN, elements_before=elements)["first_element"]
        return state_pool(subject, offset=first)

    def alone() -> Any:
        sizes = {"slots": 5, "num_v_heads": HEADS, "head_v_dim": DIM, "head_k_dim": DIM}
        names = carried_out(snippets, BY_ITSELF, torch=subject.torch, device="cpu", **sizes)
        return names["states"]

    outputs = [REQUESTS, HEADS, DIM]
    refused = "ValueError: recurrent_kda state pool breaks the compiled stride contract..."
    odd, shifted = state_pool(subject, slot_stride=ENTRY + 8), state_pool(subject, offset=8)
    tried(subject, PAD, "8 elements more a slot", lambda: stepped(padded(ENTRY + 8)), outputs)
    tried(subject, PAD, "the same, not padded", lambda: stepped(odd), refused)
    tried(subject, BEGIN, "8 elements before", lambda: stepped(begun(8)), outputs)
    tried(subject, BEGIN, "the same, not padded", lambda: stepped(shifted), refused)
    tried(subject, BY_ITSELF, "outputs", lambda: stepped(alone()), outputs)
