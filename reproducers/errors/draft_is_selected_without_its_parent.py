"""A draft tree takes a node and leaves its parent out.

Symptom
-------
Nothing is raised on the CPU; CUDA prints `WARNING: invalid eagle tree!!! Detected a token with no
parent token selected.` Acceptance drops, and the mask of such a node is read beyond its table.

Mechanism
---------
From all candidates the best are taken by their cumulative probability. A child is never better than
its parent, but it can be *as good*: with a conditional probability of exactly 1 both have the same
score. `torch.topk` promises no order among equals and may take the child alone. The message blames
NaN; none is needed. Probabilities of 1 come from peaked drafts in low precision.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.launch import resolved
from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.checks import same
from reproducers.solutions import carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.6,<=0.5.23"
BELOW_1 = "Keep probabilities below 1"
TIES = "Break ties toward the smaller id"
CHAIN = "Draft a chain"
EAGLE = "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT"
TOPK, STEPS = 2, 2


def selected(subject: Subject) -> Any:
    """`select(child_probability, nodes)`: ids of the chosen candidates of one request.

    Candidates 0 and 1 hang under the root, 2 and 3 under 0, 4 and 5 under 1.
    """
    torch = subject.torch
    organize = subject.load("sglang.srt.speculative.eagle_utils").organize_draft_results
    first = torch.tensor([[0.5, 0.4]])

    def select(child_probability: float, nodes: int) -> list[int]:
        children = first.unsqueeze(2) * torch.full((1, TOPK, TOPK), child_probability)
        tokens = [torch.arange(TOPK)[None], torch.arange(TOPK**2)[None]]
        parents = [torch.arange(-1, TOPK)[None], torch.arange(TOPK)[None]]
        scores = [first.unsqueeze(1), children]
        return list(organize(scores, tokens, parents, nodes)[1][0].tolist())

    return select


def orphans(candidates: list[int]) -> list[int]:
    """Candidates whose parent is not among them."""
    return [c for c in candidates if c >= TOPK and (c - TOPK) // TOPK not in candidates]


def trigger(subject: Subject) -> None:
    """Children that follow for certain, and a tree of three nodes."""
    subject.value("child_probability", 1.0)
    candidates = selected(subject)(1.0, 3)
    subject.value("candidates", candidates)
    subject.wrong_result(expected=[], got=orphans(candidates))


def fix(subject: Subject) -> None:
    """The same draft with its probabilities kept below one."""
    candidates = selected(subject)(1.0 - 1e-6, 3)
    subject.value("candidates", candidates)
    same(subject, "best-of-the-first-step-taken", candidates[0], 0)
    same(subject, "orphans", orphans(candidates), [])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the selection."""
    select = selected(subject)

    def tree(child_probability: float, nodes: int) -> list[int]:
        candidates: list[int] = select(child_probability, nodes)
        expect(orphans(candidates), [])
        return candidates

    hold_page(
        subject,
        snippets,
        tree,
        cases={
            "1 in 3 nodes": (1.0, 3),
            "just below 1 in 3 nodes": (1.0 - 1e-6, 3),
            "a half in 4 nodes": (0.5, 4),
        },
        error=WrongResultError,
        text="expected []",
        rescued=((1.0, 3), 0),
        passed_on=(0.5, 99),
        names={"tree": tree, "probability": 1.0},
        seen=lambda candidates: candidates[0],
    )
    nan = subject.torch.tensor(select(1.0, 3)).isnan().any().item()
    same(subject, "no-nan-is-needed", [nan, bool(orphans(select(1.0, 3)))], [False, True])
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, and nodes without their parent."""
    select, torch = selected(subject), subject.torch

    def clamped(probability: float) -> list[int]:
        topk_p = carried_out(snippets, BELOW_1, topk_p=torch.tensor([probability]))["topk_p"]
        return orphans(select(topk_p.item(), 3))

    lost = orphans(select(1.0, 3))
    tried(subject, BELOW_1, "children that follow for certain", lambda: clamped(1.0), [])
    tried(subject, BELOW_1, "not clamped", lambda: lost != [], expected=True)

    scores = torch.tensor(
        [0.5, 0.4, 0.5, 0.5, 0.4, 0.4]
    )  # the same tree: a child as good as its parent
    order = carried_out(snippets, TIES, scores=scores)["order"].tolist()
    tried(
        subject,
        TIES,
        "two of the same scores",
        lambda: [order[:2], orphans(order[:2])],
        [[0, 2], []],
    )
    tried(subject, TIES, "as the release breaks them", lambda: lost != [], expected=True)

    organize = subject.load("sglang.srt.speculative.eagle_utils").organize_draft_results

    def chosen(line: str) -> list[int]:
        """Candidates that are chosen of a chain's, each as likely as the one before."""
        sizes = resolved(subject, f"{EAGLE} {line}")
        steps = range(sizes["speculative_num_steps"])
        rows = [
            [torch.full(shape, fill) for _ in steps]
            for shape, fill in (((1, 1, 1), 1.0), ((1, 1), 0))
        ]
        tables = [torch.full((1, 1 + (i == 0)), 0) for i in steps]
        found = organize(*rows, tables, sizes["speculative_num_draft_tokens"])[1]
        return list(found[0].tolist())

    _, after = lines_of(code_of(snippets, CHAIN))
    tried(subject, CHAIN, "two steps of probability 1", lambda: chosen(after), [0, 1])
