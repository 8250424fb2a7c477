"""The conv states have no axis that is as long as the conv window.

Symptom
-------
`ValueError: conv_state shape (8, 5) has no axis of length conv_kernel-1=3; cannot build the
deduplicated sliding-window conv-intermediate view.` while the memory pool is built.

Mechanism
---------
A short convolution over the last tokens keeps a window of kernel size less one. For verification
the pool stores the windows of all draft tokens once, overlapping, and needs to know which axis of
the state slides. It takes the last axis if that has the window's length, else the first. If neither
has, the state is not the one of this convolution.
"""

import json
from collections.abc import Mapping

from reproducers.calls.launch import resolved
from reproducers.calls.mamba_pool import conv_window_axis
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
ITS_WINDOW = "Describe the state with its window"
KERNEL_SIZE = "Give the kernel size that the state was made for"
TREE = "Draft with a tree, or run without speculation"
EAGLE = "--device cuda --speculative-algorithm EAGLE --speculative-draft-model-path DRAFT"


def trigger(subject: Subject) -> None:
    """A state of eight channels by five, for a window of three."""
    subject.value("shape", [8, 5])
    conv_window_axis(subject)([(8, 5)], 3)


def fix(subject: Subject) -> None:
    """The same channels with a window of three, last or first."""
    axis = conv_window_axis(subject)
    same(subject, "window-last", axis([(8, 3)], 3), 1)
    same(subject, "window-first", axis([(3, 8)], 3), 0)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the pool."""
    axis = conv_window_axis(subject)
    hold_page(
        subject,
        snippets,
        axis,
        cases={
            "(8, 5) for 3": ([(8, 5)], 3),
            "(8, 3) for 3": ([(8, 3)], 3),
            "(3, 8) for 3": ([(3, 8)], 3),
            "(8, 4) for 3, the kernel's size": ([(8, 4)], 3),
        },
        error=ValueError,
        text="conv_state shape (8, 5) has no axis of length conv_kernel-1=3",
        rescued=(([(8, 5)], 3), None),
        passed_on=([(8, 3), (3, 8)], 3),
        names={"axis": axis, "channels": 8, "kernel": 4},
    )
    same(subject, "last-axis-wins", axis([(3, 3)], 3), 1)
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the pool and the release's own parser."""
    axis = conv_window_axis(subject)

    def axis_of(given: Mapping[str, str]) -> int:
        names = {"channels": 8, "conv_kernel": 4}
        return axis([carried_out(given, ITS_WINDOW, **names)["conv_shape"]], 3)

    refused = "ValueError: conv_state shape (8, {}) has no axis of length conv_kernel-1=3..."
    kernel = altered(snippets, ITS_WINDOW, "conv_kernel - 1", "conv_kernel")
    tried(subject, ITS_WINDOW, "axis", lambda: axis_of(snippets), 1)
    tried(subject, ITS_WINDOW, "the kernel's size", lambda: axis_of(kernel), refused.format(4))

    six = json.loads(code_of(snippets, KERNEL_SIZE))["conv_kernel"]
    tried(subject, KERNEL_SIZE, "axis of (8, 5)", lambda: axis([(8, 5)], six - 1), 1)
    tried(
        subject, KERNEL_SIZE, "a kernel of four", lambda: axis([(8, 5)], 4 - 1), refused.format(5)
    )

    overlap = subject.load("sglang.srt.mem_cache.memory_pool").conv_window_dedup_enabled

    def looks_for_axis(line: str) -> bool:
        topk = resolved(subject, f"{EAGLE} {line}")["speculative_eagle_topk"]
        return bool(overlap(False, False, topk, False))  # neither NPU nor CPU, no KDA

    chain, tree = lines_of(code_of(snippets, TREE))
    case = "the {} overlaps its windows on CUDA"
    tried(subject, TREE, case.format("line before"), lambda: looks_for_axis(chain), expected=True)
    tried(subject, TREE, case.format("line after"), lambda: looks_for_axis(tree), expected=False)
