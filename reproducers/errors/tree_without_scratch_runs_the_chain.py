"""A draft tree is verified without a scratch, and the kernel runs it as a chain.

Symptom
-------
Nothing is raised. With replay on a model with KDA layers and a draft tree, drafts are rejected that
should be accepted, and committed states are wrong.

Mechanism
---------
In a tree each node starts from its parent's state, which the kernel reads back from the scratch.
Without a scratch there is nothing to read, and the parent table is not looked at: every node starts
from the node before, siblings included. GDN's replay path asserts that there is no table; KDA's
does not. This runs the release's own Triton kernel in Triton's interpreter. Compiled for a GPU the
same call is not silent: the kernel names the missing scratch in a branch that only trees have, and
Triton refuses to compile it (`CompilationError`, seen on an H200 with 0.5.18 and 0.5.23).
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import KEY, REQUESTS, VALUE, VALUE_HEADS
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import apart, expected, recurrent_verify
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REAL = ("triton",)
FORK = [-1, 0, 0, 1]
"""Parents of a tree of four nodes: two children of the root, and one of the first."""


def verified(subject: Subject) -> Any:
    """`run(with_scratch)`: outputs of two requests of four nodes, each the tree above."""
    verify, torch = recurrent_verify(subject), subject.torch
    parents = torch.tensor([FORK] * REQUESTS, dtype=torch.int32, device=subject.device)

    def run(with_scratch: bool) -> Any:  # noqa: FBT001  # the one difference
        shape = (4, len(FORK), VALUE_HEADS, VALUE, KEY)
        rows = torch.zeros(shape, device=subject.device) if with_scratch else None
        return verify(len(FORK), scratch=rows, parents=parents)

    return run


def reference(subject: Subject, *, tree: bool) -> Any:
    """The same nodes as a tree or as a chain."""
    torch, device = subject.torch, subject.device
    parents = torch.tensor([FORK] * REQUESTS, device=device) if tree else None
    return expected(subject, len(FORK), parents=parents)[0]


def trigger(subject: Subject) -> None:
    """A tree of four nodes, and no scratch."""
    if subject.device == "cuda":
        subject.skip("compiled for a GPU the kernel is refused by Triton: nothing is silent there")
    out = verified(subject)(with_scratch=False)
    subject.value("parents", FORK)
    subject.value("error against the chain", apart(out, reference(subject, tree=False)))
    error = apart(out, reference(subject, tree=True))
    subject.wrong_result(expected={"error against the tree": 0.0},
                         got={"error against the tree": error})  # fmt: skip


def fix(subject: Subject) -> None:
    """The same tree with a scratch; outputs against the reference."""
    error = apart(verified(subject)(with_scratch=True), reference(subject, tree=True))
    subject.check("outputs", error < 1e-3, got=error, expected="below 0.001 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel."""
    if subject.device == "cuda":
        return
    run, tree = verified(subject), reference(subject, tree=True)

    def error_of(parents: list[int] | None, with_scratch: bool) -> float:  # noqa: FBT001  # the one difference
        if parents is None:
            return 0.0
        found: float = expect(apart(run(with_scratch), tree), 0.0)
        return found

    hold_page(
        subject,
        snippets,
        error_of,
        cases={
            "a tree without": (FORK, False),
            "a tree with": (FORK, True),
            "a chain without": (None, False),
        },
        error=WrongResultError,
        text="expected 0.0",
        rescued=((FORK, False), 0.0),
        passed_on=lambda: int("no number"),
        names={"error_of": error_of, "parents": FORK},
    )
    chain = apart(run(with_scratch=False), reference(subject, tree=False))
    same(subject, "it-is-the-chain", chain, 0.0)
