"""Pools of committed KDA states in layouts of choice, and the one call that reads them."""

from collections.abc import Callable
from typing import Any

from reproducers.calls.kda import DIM, HEADS, REQUESTS, SLOTS, batch, kda_kernel
from reproducers.upstream.subject import Subject

ENTRY = HEADS * DIM * DIM
"""Elements of one slot's state."""


def state_pool(subject: Subject, *, slot_stride: int = ENTRY, offset: int = 0) -> Any:
    """A bfloat16 pool [5, HV, V, K] of zeros whose slots are `slot_stride` elements apart."""
    torch, slots = subject.torch, 5
    storage = torch.zeros(offset + slots * slot_stride, dtype=torch.bfloat16)
    return storage.as_strided(
        (slots, HEADS, DIM, DIM), (slot_stride, DIM * DIM, DIM, 1), storage_offset=offset
    )


def next_token(subject: Subject) -> Callable[[Any], Any]:
    """`step(states)`: one token of two requests on a pool; outputs [2, HV, V]."""
    torch = subject.torch
    inputs = batch(subject, draft=1)
    if subject.version is None:
        from reproducers.reference.kda import kda_target_verify

        rows = {name: inputs[name][0].float() for name in "qkvab"}

        def reference(states: Any) -> Any:
            return kda_target_verify(
                *rows.values(),
                A_log=inputs["A_log"].flatten().float(),
                dt_bias=inputs["dt_bias"].float(),
                ssm_states=states,
                cache_indices=torch.tensor(SLOTS),
                draft_token_num=1,
                intermediate_ssm=torch.zeros(REQUESTS, 1, HEADS, DIM, DIM),
            )

        return reference
    kernel = kda_kernel(subject)
    kept = []  # the wrapper remembers pools by id(): a new one at an old address would pass

    def step(states: Any) -> Any:
        kept.append(states)
        return kernel.decode(
            **inputs,
            ssm_states=states,
            cache_indices=torch.tensor(SLOTS),
            query_start_loc=torch.arange(REQUESTS + 1),
        )[0]

    return step
