"""Flashinfer's KDA verify kernel gets a draft tree.

Symptom
-------
`RuntimeError: FlashInfer KDA verify kernel only supports topk=1 (retrieve_parent_token must be
None).` at the first verify.

Mechanism
---------
In a tree each node continues from its parent's state, which the parent table names. Flashinfer's
kernel has no such table: it runs the nodes of a request one after another, as a chain. Given a tree
it would compute every state from a sibling's, so the wrapper refuses the table. The wrapper here is
the release's own; flashinfer's kernel, which needs compute capability 10, is replaced by the
recurrence in plain torch.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.kda import DRAFT, REQUESTS, difference, kda_kernel, state_pool, verify
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
FORK = [-1, 0, 0, 1]
"""Parents of a tree of four nodes: two children of the root, and one of the first."""


def verified(subject: Subject) -> Any:
    """`run(parents)`: verify two requests of four nodes; outputs [1, 8, H, V]."""
    kernel, state = kda_kernel(subject), state_pool(subject, DRAFT)

    def run(parents: list[int] | None) -> Any:
        table = None if parents is None else subject.torch.tensor([parents] * REQUESTS)
        return verify(subject, kernel, state, retrieve_parent_token=table)

    return run


def trigger(subject: Subject) -> None:
    """Two requests, each with a tree of four nodes."""
    subject.value("parents", FORK)
    verified(subject)(FORK)


def fix(subject: Subject) -> None:
    """The same nodes as a chain."""
    out = verified(subject)(None)
    same(subject, "output-rows", out.shape[1], REQUESTS * DRAFT)
    same(subject, "finite", bool(out.isfinite().all()), True)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    run = verified(subject)
    hold_page(
        subject,
        snippets,
        run,
        cases={
            "a tree": (FORK,),
            "no table": (None,),
            "a chain's table": ([-1, 0, 1, 2],),
        },
        error=RuntimeError,
        text="FlashInfer KDA verify kernel only supports topk=1",
        rescued=(([-1, 0, 1, 2],), 0.0),
        passed_on=lambda: int("no number"),
        names={"run": run, "parents": FORK},
        seen=lambda out: difference(out, run(None)),
    )
    try:
        run([-1, 0, 1, 2])
        got = "returns"
    except RuntimeError as error:
        got = str(error)
    subject.check("any-table-is-refused", "only supports topk=1" in got, got=got)
