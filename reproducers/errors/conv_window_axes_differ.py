"""The conv states of a model have their windows on different axes.

Symptom
-------
`ValueError: inconsistent conv-window axis across conv shapes [(8, 3), (3, 8)]; a single
conv_window_axis cannot serve mixed layouts.` while the memory pool is built.

Mechanism
---------
A model can keep several conv states a layer, for example of queries, keys and values. The pool
stores the windows of all draft tokens overlapping and keeps one sliding axis for all states. States
of different layouts would need one each, so mixed layouts are refused.
"""

from collections.abc import Mapping

from reproducers.calls.mamba_pool import conv_window_axis
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"


def trigger(subject: Subject) -> None:
    """One state with its window last, one with its window first."""
    subject.value("shapes", [[8, 3], [3, 8]])
    conv_window_axis(subject)([(8, 3), (3, 8)], 3)


def fix(subject: Subject) -> None:
    """Both states with their windows last."""
    same(subject, "axis", conv_window_axis(subject)([(8, 3), (16, 3)], 3), 1)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the pool."""
    axis = conv_window_axis(subject)
    hold_page(
        subject,
        snippets,
        axis,
        cases={
            "last and first": ([(8, 3), (3, 8)], 3),
            "last and last": ([(8, 3), (16, 3)], 3),
            "first and first": ([(3, 8), (3, 16)], 3),
            "one state": ([(3, 8)], 3),
            "first, then last": ([(3, 16), (16, 3)], 3),
        },
        error=ValueError,
        text="inconsistent conv-window axis across conv shapes",
        rescued=(([(8, 3), (3, 8)], 3), [1, 0]),
        passed_on=([(8, 5)], 3),
        names={"axis": axis},
    )
    same(subject, "sizes-may-differ", axis([(8, 3), (64, 3)], 3), 1)
