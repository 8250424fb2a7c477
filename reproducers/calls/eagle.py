"""EAGLE's draft trees: tables of a chain, slots of draft steps, and the tree that is verified."""

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from reproducers.upstream.subject import Subject

TOPK, STEPS, NODES = 2, 2, 4
"""Beams, draft steps and nodes of the trees here."""


def chain_tables(subject: Subject) -> Callable[[int, int], tuple[list[Any], list[Any]]]:
    """`tables(steps, draft_tokens)`: parents and selected candidates of one request's chain."""
    if subject.version is None:
        from reproducers.reference.beams import topk1_chain_tables

        def reference(steps: int, draft_tokens: int) -> tuple[list[Any], list[Any]]:
            parents, selected = topk1_chain_tables(1, steps, draft_tokens)
            return parents[0].tolist(), selected[0].tolist()

        return reference
    worker, tables_of = chain_worker(subject)

    def tables(steps: int, draft_tokens: int) -> tuple[list[Any], list[Any]]:
        sizes = {"speculative_num_steps": steps, "speculative_num_draft_tokens": draft_tokens}
        vars(worker).update(sizes)
        worker._rebuild_topk1_chain_buffers()  # noqa: SLF001  # the place of the error
        return tables_of()

    return tables


def chain_worker(subject: Subject) -> tuple[Any, Callable[[], tuple[list[Any], list[Any]]]]:
    """A draft worker of one beam that can rebuild its tables, and what these then are.

    Its sizes are to be set: `speculative_num_steps` and `speculative_num_draft_tokens`.
    """
    if subject.version is not None and subject.version.release >= (0, 5, 17):
        worker_class = subject.load("sglang.srt.speculative.base_spec_worker").EagleDraftWorkerBase
    else:
        worker_class = subject.load("sglang.srt.speculative.eagle_worker_v2").EagleDraftWorker

    def rebuild() -> None:
        with settings(subject, max_running_requests=1):
            worker_class._rebuild_topk1_chain_buffers(worker)  # noqa: SLF001  # the place of the error

    worker = SimpleNamespace(
        topk=1,
        server_args=SimpleNamespace(
            max_running_requests=1, cuda_graph_max_bs=None, cuda_graph_config=None
        ),
        device="cpu",
    )
    why = "no model is loaded: the sizes that the tables are made from"
    subject.in_place_of("EagleDraftWorker", worker, why=why)
    worker._rebuild_topk1_chain_buffers = rebuild  # noqa: SLF001  # by its own name

    def tables() -> tuple[list[Any], list[Any]]:
        return (
            worker._topk1_parents_prealloc[0].tolist(),  # noqa: SLF001  # what it builds
            worker._topk1_score_indices_prealloc[0].tolist(),  # noqa: SLF001  # what it builds
        )

    return worker, tables


def settings(subject: Subject, **values: Any) -> contextlib.AbstractContextManager[Any]:
    """Server settings that are in force within the block, where the release keeps them globally."""
    if not subject.has("sglang.srt.runtime_context"):
        return contextlib.nullcontext()
    context = subject.load("sglang.srt.runtime_context").get_context()
    if not hasattr(context, "override_server_args"):
        return contextlib.nullcontext()
    found: contextlib.AbstractContextManager[Any] = context.override_server_args(**values)
    return found


def draft_slots(subject: Subject) -> Callable[..., Any]:
    """`slots(out_cache_loc, batch_size, topk, num_steps)`: the slots that each step writes."""
    if subject.version is None:
        from reproducers.reference.beams import per_step_draft_out_cache_loc

        return per_step_draft_out_cache_loc
    utils = subject.load("sglang.srt.speculative.eagle_utils")
    return utils.per_step_draft_out_cache_loc  # type: ignore[no-any-return]  # the release's function


def build_tree(  # noqa: PLR0917  # the kernel's own signature
    parent_list: Any,
    selected_index: Any,
    seq_lens: Any,
    tree_mask: Any,
    positions: Any,
    retrieve_index: Any,
    retrieve_next_token: Any,
    retrieve_next_sibling: Any,
    topk: int,
    depth: int,
    draft_token_num: int,
    tree_mask_mode: int,
) -> None:
    """The tree kernel in plain torch: links, positions and mask into the given tensors."""
    from reproducers.reference import tree

    built = tree.naive_build_tree(
        parent_list,
        selected_index,
        seq_lens,
        topk=topk,
        num_steps=depth,
        num_draft_tokens=draft_token_num,
    )
    retrieve_index.copy_(built.retrieve_index)
    retrieve_next_token.copy_(built.retrieve_next_token)
    retrieve_next_sibling.copy_(built.retrieve_next_sibling)
    positions.copy_(built.positions)
    tree_mask.copy_(tree.tree_mask(built, seq_lens, int(tree_mask_mode)))


def tree_mask(subject: Subject) -> Callable[..., Any]:
    """`mask(mode, nodes=4)`: the flat mask of two requests' trees, in a layout.

    Four nodes are a tree of two beams and two steps, other numbers one of four beams and three.
    """
    torch = subject.torch
    seq_lens = torch.tensor([3, 5])

    def tables(nodes: int) -> tuple[Any, Any, int, int]:
        """Parents of candidates, selected candidates, beams and steps."""
        narrow = nodes == NODES
        beams = [-1, 0, 1] if narrow else [-1, 0, 1, 2, 3, 4, 8, 12, 16]
        sizes = (TOPK, STEPS) if narrow else (4, 3)
        return torch.tensor([beams] * 2), torch.arange(nodes - 1).repeat(2, 1), *sizes

    if subject.version is None:
        from reproducers.reference import tree

        def reference(mode: Any, nodes: int = NODES) -> Any:
            parents, selected, topk, steps = tables(nodes)
            built = tree.naive_build_tree(
                parents, selected, seq_lens, topk=topk, num_steps=steps, num_draft_tokens=nodes
            )
            return tree.tree_mask(built, seq_lens, mode)

        return reference
    utils = subject.load("sglang.srt.speculative.eagle_utils")
    kernel = (
        "build_tree_kernel_efficient_func"
        if hasattr(utils, "build_tree_kernel_efficient_func")
        else "sgl_build_tree_kernel_efficient"
    )
    subject.substitute(utils, kernel, build_tree, why="a kernel of sgl_kernel")

    def mask(mode: Any, nodes: int = NODES) -> Any:
        parents, selected, topk, steps = tables(nodes)
        return utils.build_tree_kernel_efficient(
            torch.tensor([7, 8]),
            parents,
            selected,
            torch.arange(2 * (nodes - 1)).view(2, -1),
            seq_lens,
            int(seq_lens.sum()),
            topk,
            steps,
            nodes,
            tree_mask_mode=mode,
        )[0]

    return mask
