"""A batch that no captured graph holds gets as far as choosing one.

Symptom
-------
`AssertionError: size 9 exceeds max captured bucket 8; can_run_graph should have rejected this
batch` at a replay.

Mechanism
---------
Graphs are captured for some sizes, the buckets, and a batch takes the smallest that holds it. A
batch above the largest has to run without a graph. That is decided in `can_run_graph`, before
anything is prepared; this assertion is the second line of defence, and says so.
"""

from collections.abc import Mapping

from reproducers.calls.graph_buffers import bucket
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.14,<=0.5.23"
REFERENCE = True
BUCKETS = [1, 2, 4, 8]


def trigger(subject: Subject) -> None:
    """Nine requests for graphs of up to eight."""
    subject.value("size", 9)
    bucket(subject)(9, BUCKETS)


def fix(subject: Subject) -> None:
    """The same batch with a graph of sixteen, and sizes below."""
    pad = bucket(subject)
    same(subject, "bucket-of-9", pad(9, [*BUCKETS, 16]), 16)
    same(subject, "smaller-sizes", [pad(n, BUCKETS) for n in (1, 3, 8)], [1, 4, 8])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the choice of a bucket."""
    pad = bucket(subject)
    hold_page(
        subject,
        snippets,
        pad,
        cases={
            "9 of 8": (9, BUCKETS),
            "8 of 8": (8, BUCKETS),
            "5 of 8": (5, BUCKETS),
            "2 of [1]": (2, [1]),
        },
        error=AssertionError,
        text="size 9 exceeds max captured bucket 8; can_run_graph should have rejected this batch",
        rescued=((9, BUCKETS), None),
        passed_on=(1, []),
        names={"pad": pad, "size": 9},
    )
    unsorted = outcome(lambda: pad(8, [8, 4, 2, 1]))
    subject.check("last-is-taken-for-largest", "max captured bucket 1" in unsorted, got=unsorted)
