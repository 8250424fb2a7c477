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

from reproducers.calls.kda import DIM, HEADS, REQUESTS
from reproducers.calls.kda_states import ENTRY, next_token, state_pool
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"


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
