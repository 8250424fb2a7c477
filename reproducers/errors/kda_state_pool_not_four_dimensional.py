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
from typing import Any

from reproducers.calls.kda import DIM, HEADS, REQUESTS, SLOTS, batch, kda_kernel, mamba_pool
from reproducers.calls.kda_states import next_token, state_pool
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
REFERENCE = True
ONE_LAYER = "Take one layer"
THE_POOL = "Pass the pool, not a slot"


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
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own memory pool and wrapper."""
    step, torch = next_token(subject), subject.torch
    pool_class, options = mamba_pool(subject)
    cache = pool_class(**options, speculative_num_draft_tokens=1).mamba_cache

    def of_layer(given: Mapping[str, str]) -> list[int]:
        names = carried_out(given, ONE_LAYER, mamba_cache=cache, layer_index=0)
        return list(step(names["ssm_states"]).shape)

    outputs = [REQUESTS, HEADS, DIM]
    refused = "ValueError: recurrent_kda needs a [N, HV, V, K] state pool; got shape {}"
    every = altered(snippets, ONE_LAYER, "[layer_index]", "")
    shape = (1, *state_pool(subject).shape)
    tried(subject, ONE_LAYER, "outputs", lambda: of_layer(snippets), outputs)
    tried(subject, ONE_LAYER, "all layers", lambda: of_layer(every), refused.format(shape))

    names: dict[str, Any] = {
        "kernel": kda_kernel(subject),
        "inputs": batch(subject, draft=1),
        "pool": state_pool(subject),
        "slots": torch.tensor(SLOTS),
        "query_start_loc": torch.arange(REQUESTS + 1),
    }

    def decoded(given: Mapping[str, str]) -> list[int]:
        return list(carried_out(given, THE_POOL, **names)["output"][0].shape)

    one = altered(snippets, THE_POOL, "ssm_states=pool", "ssm_states=pool[slots[0]]")
    tried(subject, THE_POOL, "outputs", lambda: decoded(snippets), outputs)
    tried(subject, THE_POOL, "one slot", lambda: decoded(one), refused.format((HEADS, DIM, DIM)))
