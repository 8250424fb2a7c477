"""A draft tree is to be built with a mask layout that does not exist.

Symptom
-------
`NotImplementedError: Invalid tree mask: tree_mask_mode=7` at the first verify.

Mechanism
---------
Attention backends read tree masks in three layouts: with the committed prefix (0), tree by tree
only (1), or one integer a node (2). The mode decides how much memory is allocated and how the
kernel fills it. Any other number falls through to the error, whether a buffer was handed over or
not. The tree kernel is replaced by one in plain torch here.
"""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.eagle import NODES, tree_mask
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
ENUMERATION = "Use the enumeration"
LEAVE_OUT = "Leave the argument out"
PREFIX = 3 + 5  # committed tokens of the two requests


def trigger(subject: Subject) -> None:
    """Mode 7."""
    subject.value("tree_mask_mode", 7)
    tree_mask(subject)(7)


def fix(subject: Subject) -> None:
    """The same trees in each layout."""
    mask = tree_mask(subject)
    sizes = [PREFIX * NODES + 2 * NODES**2, 2 * NODES**2, 2 * NODES]
    for mode, size in enumerate(sizes):
        same(subject, f"entries-of-mode-{mode}", mask(mode).numel(), size)
    same(subject, "third-node-sees", mask(2).tolist()[:NODES], [1, 3, 5, 11])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the builder."""
    mask = tree_mask(subject)
    hold_page(
        subject,
        snippets,
        mask,
        cases={"7": (7,), "0": (0,), "1": (1,), "2": (2,), "-1": (-1,), "3": (3,)},
        error=NotImplementedError,
        text="Invalid tree mask: tree_mask_mode=7",
        rescued=((7,), PREFIX * NODES + 2 * NODES**2),
        passed_on=lambda: int("no number"),
        names={"mask": mask, "mode": 1},
        seen=lambda found: found.numel(),
    )
    if subject.version is not None:
        solutions(subject, snippets)

    same(subject, "one-integer-a-node", str(mask(2).dtype), "torch.uint8")


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the builder and the release's own default."""
    mask = tree_mask(subject)
    utils = subject.load("sglang.srt.speculative.eagle_utils")
    parameters = inspect.signature(utils.build_tree_kernel_efficient).parameters
    default = parameters["tree_mask_mode"].default

    def build(tree_mask_mode: Any = default) -> tuple[Any]:
        return (mask(tree_mask_mode),)

    def entries(code: Mapping[str, str], title: str) -> int:
        names = {"build_tree_kernel_efficient": build, "TreeMaskMode": utils.TreeMaskMode}
        return int(carried_out(code, title, **names, tree={})["mask"].numel())

    full = PREFIX * NODES + 2 * NODES**2
    sizes = {"FULL_MASK": full, "QLEN_ONLY": 2 * NODES**2, "QLEN_ONLY_BITPACKING": 2 * NODES}
    for name, size in sizes.items():
        code = altered(snippets, ENUMERATION, "FULL_MASK", name)
        case = f"{name}: entries of the mask"
        tried(subject, ENUMERATION, case, partial(entries, code, ENUMERATION), size)
    code = altered(snippets, ENUMERATION, "TreeMaskMode.FULL_MASK", "7")
    refused = "NotImplementedError: Invalid tree mask: tree_mask_mode=7..."
    tried(subject, ENUMERATION, "7 in its place", partial(entries, code, ENUMERATION), refused)
    left_out = partial(entries, snippets, LEAVE_OUT)
    tried(subject, LEAVE_OUT, "entries of the mask", left_out, full)
