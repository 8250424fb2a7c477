"""The Triton tree kernel gets a parent table whose columns are not next to each other.

Symptom
-------
Nothing is raised. Draft trees of a batch get wrong links, masks and positions, and drafts are
rejected.

Mechanism
---------
The kernel takes a pointer and the distance of rows, and counts through a row one by one. A table
that was transposed, or sliced out of a wider one by columns, has its columns further apart; the
kernel reads parents of other requests. The CPU operator demands a contiguous table, the Triton
wrapper does not look. This runs the release's own Triton kernel, on a CPU in Triton's interpreter.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.calls.triton_kernels import use_triton
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REAL = ("triton",)
TOPK, STEPS, NODES, REQUESTS = 1, 4, 5, 3
FIRST_CHILDREN = [[1, 2, 3, 4, -1]] * REQUESTS
"""First child of each node of a chain."""


def built(subject: Subject) -> Any:
    """`links(layout)`: first child of each node, of three requests with one chain each."""
    use_triton(subject)
    torch, device = subject.torch, subject.device
    module = subject.load("sglang.srt.speculative.eagle_utils")
    if not hasattr(module, "sgl_build_tree_kernel_triton"):  # 0.5.23
        module = subject.load("sglang.kernels.ops.speculative.spec_tree")
    rows = torch.arange(-1, STEPS - 1, device=device).repeat(REQUESTS, 1)
    layouts = {
        "contiguous": rows,
        "transposed": rows.t().contiguous().t(),
        "expanded": rows[:1].expand(REQUESTS, -1),
    }

    def links(layout: str) -> list[list[int]]:
        found = torch.full((3, REQUESTS, NODES), -1, device=device)
        module.sgl_build_tree_kernel_triton(
            layouts[layout],
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
