"""A bit-packed tree mask is asked for, and the tree has more nodes than an integer has bits.

Symptom
-------
`IndexError: list index out of range` in `build_tree_kernel_efficient`, at the first verify.

Mechanism
---------
The bit-packed layout (mode 2) writes one unsigned integer a node, one bit for each node that it
sees. Its type is picked from a list of three by the number of nodes: 8, 16 or 32 bits. From 33 on
the list has no such type, and Python's own error is all that is said. The other two layouts have no
limit. The tree kernel is replaced by one in plain torch here.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.eagle import tree_mask
from reproducers.calls.launch import line_of, resolved
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
BIT_PACKED, QLEN_ONLY = 2, 1
FEWER = "Draft fewer tokens"
UNPACKED = "Use a layout without packing"
WIDE = {
    "device": "cuda",
    "speculative_algorithm": "EAGLE",
    "speculative_draft_model_path": "DRAFT",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 4,
    "speculative_num_draft_tokens": 48,
    "attention_backend": "triton",
}


def trigger(subject: Subject) -> None:
    """Thirty-three nodes, the root included."""
    subject.value("tree_mask_mode", BIT_PACKED)
    subject.value("num_verify_tokens", 33)
    tree_mask(subject)(BIT_PACKED, 33)


def fix(subject: Subject) -> None:
    """The same tree without its last node."""
    found = tree_mask(subject)(BIT_PACKED, 32)
    same(subject, "type", str(found.dtype), "torch.uint32")
    same(subject, "one-integer-a-node", found.numel(), 2 * 32)
    first = [int(n).bit_count() for n in found[:32].tolist()]
    depths = [1, *[2] * 4, *[3] * 16, *[4] * 11]  # the root sees itself, the others their ancestors
    same(subject, "nodes-that-each-sees", first, depths)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the builder."""
    mask = tree_mask(subject)
    hold_page(
        subject,
        snippets,
        mask,
        cases={
            "33 bit-packed": (BIT_PACKED, 33),
            "32 bit-packed": (BIT_PACKED, 32),
            "33 as truth values": (QLEN_ONLY, 33),
            "17 bit-packed": (BIT_PACKED, 17),
        },
        error=IndexError,
        text="list index out of range",
        rescued=((BIT_PACKED, 33), 2 * 33**2),
        passed_on=(7, 33),
        names={"mask": mask, "nodes": 33},
        seen=lambda found: found.numel(),
    )
    if subject.version is not None:
        solutions(subject, snippets)

    types = [str(mask(BIT_PACKED, nodes).dtype) for nodes in (8, 9, 16, 17)]
    wanted = ["torch.uint8", "torch.uint16", "torch.uint16", "torch.uint32"]
    same(subject, "type-follows-nodes", types, wanted)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the builder and the release's own parser."""
    mask = tree_mask(subject)
    refused = "IndexError: list index out of range"

    def packed(line: str) -> str:
        nodes = resolved(subject, line)["speculative_num_draft_tokens"]
        return str(mask(BIT_PACKED, nodes).dtype)

    asked: dict[str, Any] = {"line": line_of(WIDE), "seen": packed, "before": refused}
    tried_change(subject, snippets, FEWER, **asked, after="torch.uint32")
    utils = subject.load("sglang.srt.speculative.eagle_utils")

    def build(tree_mask_mode: Any) -> tuple[Any]:
        return (mask(tree_mask_mode, 33),)

    def entries(code: Mapping[str, str]) -> int:
        names = {"build_tree_kernel_efficient": build, "TreeMaskMode": utils.TreeMaskMode}
        return int(carried_out(code, UNPACKED, **names, tree={})["mask"].numel())

    bits = altered(snippets, UNPACKED, "QLEN_ONLY", "QLEN_ONLY_BITPACKING")
    unpacked = partial(entries, snippets)
    tried(subject, UNPACKED, "33 nodes: entries of the mask", unpacked, 2 * 33**2)
    tried(subject, UNPACKED, "33 nodes, packed", partial(entries, bits), refused)
