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
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.17,<=0.5.23"
ONE_LAYOUT = "Use one layout"
JOIN = "Join the states"


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
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: the shapes that it makes go to the pool."""
    axis = conv_window_axis(subject)

    def axis_of(given: Mapping[str, str], title: str) -> int:
        channels = {"q_channels": 8, "k_channels": 16, "v_channels": 32}
        return axis(carried_out(given, title, conv_kernel=4, **channels)["conv_shapes"], 3)

    refused = "ValueError: inconsistent conv-window axis across conv shapes [(8, 3), (3, 16)]..."
    last, second = "(channels, conv_kernel - 1)", "(conv_kernel - 1, channels)"
    mixed = altered(snippets, ONE_LAYOUT, last, f"{last} if channels == 8 else {second}")
    tried(subject, ONE_LAYOUT, "axis", lambda: axis_of(snippets, ONE_LAYOUT), 1)
    tried(subject, ONE_LAYOUT, "two layouts", lambda: axis_of(mixed, ONE_LAYOUT), refused)
    tried(subject, JOIN, "axis", lambda: axis_of(snippets, JOIN), 1)
