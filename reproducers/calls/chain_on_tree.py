"""How wrong the chunked chain form is on a draft tree: the numbers behind a check at launch."""

from typing import Any, Final

from reproducers.upstream.subject import Subject

HEADS, DIM, CONTEXT, SEEDS = 2, 32, 32, 2
"""Value heads, size of keys and of values, tokens before the tree, repetitions."""
DECAYS: Final = {"long memory": (0.001, 0.05), "medium": (0.05, 0.5), "short": (0.5, 3.0)}
"""Ranges of `-g`, from which gates are drawn evenly in their logarithm."""
TOPKS, STEPS = (1, 2, 3, 4, 6), (1, 2, 3, 4)


def record_errors(subject: Subject) -> None:
    """Record two series of relative errors: against topk, and against steps, a line a decay."""
    by_topk = {name: [error(subject, k, 2, name) for k in TOPKS] for name in DECAYS}
    subject.value(
        "Error of the chain form on a tree, by topk",
        {"x": list(TOPKS), **by_topk, "xLabel": "topk, with 2 steps", "yLabel": "relative, GDN"},
    )
    by_steps = {name: [error(subject, 2, s, name) for s in STEPS] for name in DECAYS}
    subject.value(
        "Error of the chain form on a tree, by steps",
        {"x": list(STEPS), **by_steps, "xLabel": "steps, with topk 2", "yLabel": "relative, GDN"},
    )


def error(subject: Subject, topk: int, steps: int, decay: str) -> float:
    """Outputs of all nodes as a chain against those as a tree, relative, to four places."""
    found = [_one(subject, topk, steps, DECAYS[decay], seed) for seed in range(SEEDS)]
    return round(sum(found) / SEEDS, 4)


def _one(subject: Subject, topk: int, steps: int, decay: tuple[float, float], seed: int) -> float:
    from reproducers.reference.chunked import naive_chunk_verify
    from reproducers.reference.recurrent import naive_recurrent_verify

    torch = subject.torch
    generator = torch.Generator().manual_seed(1000 * seed + 10 * topk + steps)
    parents = _parents(torch, generator, topk, steps)
    nodes = parents.shape[1]
    before = _tokens(torch, generator, CONTEXT, decay)
    state = torch.zeros(1, HEADS, DIM, DIM, dtype=torch.float64)
    slot = torch.zeros(1, dtype=torch.int64)
    given = {"ssm_states": state, "cache_indices": slot}
    scratch = torch.zeros(1, CONTEXT, HEADS, DIM, DIM, dtype=torch.float64)
    naive_recurrent_verify(*before, **given, draft_token_num=CONTEXT, intermediate_ssm=scratch)
    given["ssm_states"] = scratch[:, -1].clone()
    drafts = _tokens(torch, generator, nodes, decay)
    tree = naive_recurrent_verify(
        *drafts,
        **given,
        draft_token_num=nodes,
        intermediate_ssm=torch.zeros(1, nodes, HEADS, DIM, DIM, dtype=torch.float64),
        retrieve_parent_token=parents,
    )
    chain = naive_chunk_verify(*drafts, initial_state=given["ssm_states"][0]).out
    return float((chain - tree).norm() / tree.norm())


def _parents(torch: Any, generator: Any, topk: int, steps: int) -> Any:
    """Parent of each node [1, N], -1 at the root, of a tree that keeps every candidate."""
    from reproducers.reference.beams import expand_beams, organize_draft_results
    from reproducers.reference.tree import naive_build_tree

    shapes = [(1, topk), *[(topk, topk)] * (steps - 1)]
    probs = [torch.rand(shape, generator=generator).softmax(-1) * 0.9 for shape in shapes]
    ids = [torch.zeros(shape, dtype=torch.int64) for shape in shapes]
    scores, tokens, parent_list = expand_beams(probs, ids)
    nodes = scores.shape[1] + 1
    selected, _ = organize_draft_results(scores, tokens, nodes)
    built = naive_build_tree(
        parent_list,
        selected,
        torch.ones(1, dtype=torch.int64),
        topk=topk,
        num_steps=steps,
        num_draft_tokens=nodes,
    )
    return built.parent


def _tokens(torch: Any, generator: Any, count: int, decay: tuple[float, float]) -> tuple[Any, ...]:
    """Queries, keys and values through SiLU, log decays and write strengths of some tokens."""

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q, k, v = (torch.nn.functional.silu(normal(count, HEADS, DIM)) for _ in range(3))
    low, high = (torch.tensor(x, dtype=torch.float64).log() for x in decay)
    part = torch.rand(count, HEADS, generator=generator, dtype=torch.float64)
    return q, k, v, -(low + (high - low) * part).exp(), torch.sigmoid(normal(count, HEADS))
