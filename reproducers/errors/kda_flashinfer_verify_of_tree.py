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
from reproducers.calls.kda_dispatch import ON_B200, dispatched, in_words_of
from reproducers.calls.launch import QWEN3_NEXT, resolved
from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import recurrent_update
from reproducers.checks import same
from reproducers.solutions import tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
CHAIN = "Draft a chain"
TRITON = "Verify with Triton"
REFUSED = "RuntimeError: FlashInfer KDA verify kernel only supports topk=1..."
EAGLE = (
    "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT "
    "--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8"
)
FORK = [-1, 0, 0, 1]
"""Parents of a tree of four nodes: two children of the root, and one of the first."""


def verified(subject: Subject, kernel: Any = None) -> Any:
    """`run(parents)`: verify two requests of four nodes; outputs [1, 8, H, V].

    kernel: another one than flashinfer's.
    """
    kernel, state = kernel or kda_kernel(subject), state_pool(subject, DRAFT)

    def run(parents: list[int] | None) -> Any:
        int32 = subject.torch.int32
        table = parents and subject.torch.tensor([parents] * REQUESTS, dtype=int32)
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
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: the release's own parser, and the kernel a line leads to."""
    recurrent_update(subject)
    run = verified(subject)

    def by_topk(line: str) -> list[int]:
        """Topk and draft tokens of the line, and rows of its verify: a tree brings a table."""
        settings = resolved(subject, line, model=QWEN3_NEXT, platform="h100")
        topk, nodes = (settings[f"speculative_{x}"] for x in ("eagle_topk", "num_draft_tokens"))
        out = run(FORK if topk > 1 else None)
        return [topk, nodes, out.shape[1] // REQUESTS]

    asked: dict[str, Any] = {"line": EAGLE, "seen": by_topk, "before": REFUSED}
    tried_change(subject, snippets, CHAIN, **asked, after=[1, DRAFT, DRAFT])

    def siblings_differ(line: str) -> bool:
        """Whether a tree's second child starts from the root: as the kernel of this line has it."""
        kernel = dispatched(subject, in_words_of(subject, line), "b200").verify_kernel
        other = verified(subject, kernel)
        tree, chain = other(FORK)[0], other(None)[0]
        first = difference(tree[:2], chain[:2]) < 0.01
        return bool(first and difference(tree[2:DRAFT], chain[2:DRAFT]) > 0.01)

    line = f"{ON_B200} --linear-attn-verify-backend flashinfer"
    asked = {"line": line, "seen": siblings_differ, "before": REFUSED, "after": True}
    tried_change(subject, snippets, TRITON, **asked)
    tried(subject, TRITON, "a chain, by both", lambda: by_both(subject, run), expected=True)


def by_both(subject: Subject, run: Any) -> bool:
    """Whether flashinfer's wrapper and the Triton kernel give the same for a chain."""
    line = in_words_of(subject, f"{ON_B200} --linear-attn-verify-backend triton")
    other = verified(subject, dispatched(subject, line, "b200").verify_kernel)
    return bool(difference(other(None), run(None)) < 0.02)
