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

from collections.abc import Mapping

from reproducers.calls.mamba_pool import conv_window_axis
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"


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
