"""The Triton tree kernel gets a parent table whose columns are not next to each other.

Symptom
-------
Nothing is raised. Draft trees of a batch get wrong links, masks and positions, and drafts are
rejected.

Mechanism
---------
The kernel takes a pointer and the distance of rows, and counts through a row one by one. A table
that was transposed, or sliced out of a wider one by columns, has its columns further apart; the
kernel reads parents of other requests, and the wrapper does not look. This runs the release's own
Triton kernel, on a CPU in Triton's interpreter.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import use_triton
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REAL = ("triton",)
COPY = "Copy the table"
CHECK = "Check the layout before the call"
TOPK, STEPS, NODES, REQUESTS = 1, 4, 5, 3
FIRST_CHILDREN = [[1, 2, 3, 4, -1]] * REQUESTS
"""First child of each node of a chain."""


def built(subject: Subject) -> Any:
    """`links(layout)`: first child of each node, of three requests with one chain each.

    layout: its name, or the table itself.
    """
    use_triton(subject)
    torch, device = subject.torch, subject.device
    module = subject.load("sglang.srt.speculative.eagle_utils")
    if not hasattr(module, "sgl_build_tree_kernel_triton"):  # 0.5.23
        module = subject.load("sglang.kernels.ops.speculative.spec_tree")
    layouts = tables(subject)

    def links(layout: Any) -> list[list[int]]:
        found = torch.full((3, REQUESTS, NODES), -1, device=device)
        module.sgl_build_tree_kernel_triton(
            layouts[layout] if isinstance(layout, str) else layout,
            torch.arange(NODES - 1, device=device).repeat(REQUESTS, 1),
            torch.tensor([3, 5, 7], device=device),
            torch.ones(REQUESTS * NODES**2, dtype=torch.bool, device=device),
            torch.zeros(REQUESTS * NODES, dtype=torch.int64, device=device),
            *found,
            TOPK,
            STEPS,
            NODES,
            1,
        )
        return list(found[1].tolist())

    return links


def tables(subject: Subject) -> dict[str, Any]:
    """The parents of three chains, by how the table lies in memory."""
    rows = subject.torch.arange(-1, STEPS - 1, device=subject.device).repeat(REQUESTS, 1)
    return {
        "contiguous": rows,
        "transposed": rows.t().contiguous().t(),
        "expanded": rows[:1].expand(REQUESTS, -1),
    }


def trigger(subject: Subject) -> None:
    """Three chains whose parents were transposed."""
    subject.value("layout", "transposed")
    subject.wrong_result(expected=FIRST_CHILDREN, got=built(subject)("transposed"))


def fix(subject: Subject) -> None:
    """The same parents, row by row."""
    same(subject, "first-children", built(subject)("contiguous"), FIRST_CHILDREN)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the kernel."""
    links = built(subject)

    def tree(layout: str) -> list[list[int]]:
        found: list[list[int]] = expect(links(layout), FIRST_CHILDREN)
        return found

    hold_page(
        subject,
        snippets,
        tree,
        cases={
            "transposed": ("transposed",),
            "contiguous": ("contiguous",),
            "expanded": ("expanded",),
        },
        error=WrongResultError,
        text=f"expected {FIRST_CHILDREN}",
        rescued=(("transposed",), FIRST_CHILDREN),
        passed_on=("no such layout",),
        names={"tree": tree},
    )
    same(subject, "expanded-rows-are-right", links("expanded"), FIRST_CHILDREN)
    solutions(subject, snippets, links)


def solutions(subject: Subject, snippets: Mapping[str, str], links: Any) -> None:
    """Each way out of the page, gone with a transposed table and the release's own kernel."""
    table = tables(subject)

    def copied(code: Mapping[str, str]) -> list[list[int]]:
        left = carried_out(code, COPY, parent_list=table["transposed"])
        return list(links(left["parent_list"]))

    as_it_is = altered(snippets, COPY, ".contiguous()", "")
    tried(subject, COPY, "first children", partial(copied, snippets), FIRST_CHILDREN)
    wrong = lambda: copied(as_it_is) == FIRST_CHILDREN  # noqa: E731  # one comparison
    tried(subject, COPY, "the same are right without", wrong, expected=False)

    def checked(layout: str) -> list[list[int]]:
        carried_out(snippets, CHECK, parent_list=table[layout])
        return list(links(layout))

    refused = "RuntimeError: parent_list must be contiguous"
    tried(subject, CHECK, "transposed", partial(checked, "transposed"), refused)
    tried(subject, CHECK, "contiguous", partial(checked, "contiguous"), FIRST_CHILDREN)
