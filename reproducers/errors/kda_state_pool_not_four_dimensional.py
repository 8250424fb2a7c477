"""The KDA kernel gets a state pool that is not slots, heads, values, keys.

Symptom
-------
`ValueError: recurrent_kda needs a [N, HV, V, K] state pool; got shape (2, 32, 32)`.

Mechanism
---------
The pool holds one state matrix for each slot and head. Memory pools are allocated for all layers at
once, `[layers, slots, heads, values, keys]`; the kernel takes one layer's view. A pool with a
dimension more (all layers) or less (one slot) is refused before anything is launched.
"""

from collections.abc import Mapping

from reproducers.calls.kda import DIM, HEADS, REQUESTS
from reproducers.calls.kda_states import next_token, state_pool
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """The states of one slot instead of the pool."""
    states = state_pool(subject)[0]
    subject.value("shape", list(states.shape))
    next_token(subject)(states)


def fix(subject: Subject) -> None:
    """The same step on the whole pool."""
    out = next_token(subject)(state_pool(subject))
    same(subject, "outputs", list(out.shape), [REQUESTS, HEADS, DIM])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel's wrapper."""
    step, pool = next_token(subject), state_pool(subject)
    hold_page(
        subject,
        snippets,
        step,
        cases={
            "one slot": (pool[0],),
            "the pool": (pool,),
            "a pool of all layers": (pool[None],),
        },
        error=ValueError,
        text="recurrent_kda needs a [N, HV, V, K] state pool; got shape",
        rescued=((pool[None],), [REQUESTS, HEADS, DIM]),
        passed_on=lambda: int("no number"),
        names={"step": step, "all_layers": pool[None], "layer": 0},
        seen=lambda out: list(out.shape),
    )
    same(subject, "any-number-of-slots", list(step(pool[:4]).shape), [REQUESTS, HEADS, DIM])
