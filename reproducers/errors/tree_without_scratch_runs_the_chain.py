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
from functools import partial
from typing import Any

from reproducers.calls.launch import QWEN3_NEXT, resolved
from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import KEY, REQUESTS, VALUE, VALUE_HEADS
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import apart, expected, recurrent_verify
from reproducers.checks import same
from reproducers.errors.replayssm_spec_needs_linear_chain import in_words_of
from reproducers.solutions import altered, carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REAL = ("triton",)
GIVE = "Give the scratch"
CHAIN = "Draft a chain"
NO_REPLAY = "Switch replay off"
LINE = (
    "--device cuda --enable-linear-replayssm-spec --speculative-algorithm EAGLE "
    "--speculative-draft-model-path DRAFT --speculative-num-steps 3 "
    "--speculative-eagle-topk 4 --speculative-num-draft-tokens 8"
)
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
    solutions(subject, snippets, tree)


def solutions(subject: Subject, snippets: Mapping[str, str], tree: Any) -> None:
    """Each way out of the page, gone with the kernel and with the release's own parser.

    tree: what the reference makes of the nodes.
    """
    verify, torch = recurrent_verify(subject), subject.torch
    shape = (4, len(FORK), VALUE_HEADS, VALUE, KEY)

    def called(*, intermediate_states_buffer: Any, retrieve_parent_token: Any) -> Any:
        """The release's wrapper, with the inputs of two requests."""
        return verify(len(FORK), scratch=intermediate_states_buffer, parents=retrieve_parent_token)

    def followed(code: Mapping[str, str]) -> bool:
        names = {
            "fused_sigmoid_gating_delta_rule_update": called,
            "inputs": {},
            "scratch": torch.zeros(shape, device=subject.device),
            "parents": torch.tensor([FORK] * REQUESTS, dtype=torch.int32, device=subject.device),
        }
        return apart(carried_out(code, GIVE, **names)["out"], tree) < 1e-3

    without = altered(
        snippets, GIVE, "intermediate_states_buffer=scratch", "intermediate_states_buffer=None"
    )
    case = "the outputs are those of the tree"
    tried(subject, GIVE, case, partial(followed, snippets), expected=True)
    tried(subject, GIVE, f"{case} without", partial(followed, without), expected=False)

    flag = in_words_of(subject, "--enable-linear-replayssm-spec")

    def drafted(line: str) -> list[Any]:
        """Topk, draft tokens, and whether replay is on."""
        settings = resolved(subject, line, model=QWEN3_NEXT)
        topk, nodes = (settings[f"speculative_{x}"] for x in ("eagle_topk", "num_draft_tokens"))
        return [topk, nodes, settings[flag.strip("-").replace("-", "_")]]

    words = altered(snippets, NO_REPLAY, "--enable-linear-replayssm-spec", flag)
    refused = f"ValueError: {flag} requires a linear draft chain..."
    asked: dict[str, Any] = {"line": in_words_of(subject, LINE), "seen": drafted, "before": refused}
    tried_change(subject, words, CHAIN, **asked, after=[1, 4, True])
    tried_change(subject, words, NO_REPLAY, **asked, after=[4, 8, False])
