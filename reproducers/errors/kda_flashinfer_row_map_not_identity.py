"""Flashinfer's KDA verify gets scratch rows in another order than its requests.

Symptom
-------
`RuntimeError: FlashInfer KDA verify requires an identity intermediate row-map
(verify_intermediate_state_indices must be arange).`

Mechanism
---------
Before the kernel runs, the committed states are copied in one piece to the first scratch rows: row
n belongs to request n. A map that says otherwise would make the kernel start from another request's
state. The wrapper compares the map with `arange` the first time it sees it, and refuses any other.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.kda import DRAFT, REQUESTS, kda_kernel, state_pool, verify
from reproducers.calls.kda_dispatch import ON_B200, dispatched, in_words_of
from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import recurrent_update
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
IDENTITY = "Use the identity"
TRITON = "Verify with Triton"
REFUSED = "RuntimeError: FlashInfer KDA verify requires an identity intermediate row-map..."


def verified(subject: Subject, kernel: Any = None) -> Any:
    """`run(row_map)`: verify two requests of four tokens; which scratch rows were written.

    kernel: another one than flashinfer's.
    """
    kernel, state = kernel or kda_kernel(subject), state_pool(subject, DRAFT)
    kept = []  # the wrapper remembers maps by id(): a new one at an old address would pass

    def run(row_map: Any) -> list[int]:
        state.intermediate_ssm.zero_()
        rows = subject.torch.as_tensor(row_map)
        kept.append(rows)
        verify(subject, kernel, state, intermediate_state_indices=rows)
        written = state.intermediate_ssm[:, DRAFT - 1].flatten(1).any(dim=1)
        return [int(row) for row in written.nonzero()]

    return run


def trigger(subject: Subject) -> None:
    """Two requests with their rows swapped."""
    subject.value("row_map", [1, 0])
    verified(subject)([1, 0])


def fix(subject: Subject) -> None:
    """The same requests, row n for request n."""
    same(subject, "rows-written", verified(subject)([0, 1]), [0, 1])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    run = verified(subject)
    hold_page(
        subject,
        snippets,
        run,
        cases={
            "[1, 0]": ([1, 0],),
            "[0, 1]": ([0, 1],),
            "[0, 0]": ([0, 0],),
            "[0, 1, 2], more than requests": ([0, 1, 2],),
        },
        error=RuntimeError,
        text="FlashInfer KDA verify requires an identity intermediate row-map",
        rescued=(([1, 0],), [0, 1]),
        passed_on=lambda: int("no number"),
        names={"run": run, "bs": REQUESTS},
    )
    same(subject, "only-the-batchs-rows-count", run([0, 1, 7]), [0, 1])
    table = subject.torch.arange(REQUESTS)
    run(table)
    table.copy_(table.flip(0))
    same(subject, "compared-once-a-tensor", run(table), [0, 1])
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the wrapper and the kernel that the line leads to."""
    recurrent_update(subject)
    run, torch = verified(subject), subject.torch

    def by_identity(code: Mapping[str, str]) -> list[int]:
        names = {"torch": torch, "bs": REQUESTS, "device": subject.device}
        return list(run(carried_out(code, IDENTITY, **names)["intermediate_state_indices"]))

    turned = altered(snippets, IDENTITY, "int32)", "int32).flip(0)")
    tried(subject, IDENTITY, "rows written", partial(by_identity, snippets), [0, 1])
    tried(subject, IDENTITY, "turned round", partial(by_identity, turned), REFUSED)

    def rows(line: str) -> list[int]:
        """Rows that a verify writes whose map starts at row 1, with the kernel of this line."""
        kernel = dispatched(subject, in_words_of(subject, line), "b200").verify_kernel
        return list(verified(subject, kernel)([2, 1]))

    line = f"{ON_B200} --linear-attn-verify-backend flashinfer"
    asked: dict[str, Any] = {"line": line, "seen": rows, "before": REFUSED, "after": [1, 2]}
    tried_change(subject, snippets, TRITON, **asked)
