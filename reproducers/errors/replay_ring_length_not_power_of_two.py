"""A replay ring has a length that is no power of two.

Symptom
-------
`ValueError: spec-verify ring length must be a power of two, got 12` while the memory pool is built.

Mechanism
---------
With replay a slot keeps the raw inputs of its last tokens in a ring. The kernels wrap positions
around with a bit mask, `position & (length - 1)`, which is right for powers of two only: with 12 it
would skip rows and visit others twice. The pool checks the length before it allocates the rings.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.launch import line_of
from reproducers.calls.mamba_pool import replay_rings
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.errors.replay_ring_too_small import rows_of, said_first
from reproducers.errors.replayssm_spec_needs_linear_chain import CHAIN
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
ROUND_UP = "Round up to a power of two"
ON_THE_LINE = "Give a power of two on the launch line"
LEAVE_OUT = "Leave the flag out"


def trigger(subject: Subject) -> None:
    """A ring of twelve rows."""
    subject.value("cache_len", 12)
    replay_rings(subject)(12, 4)


def fix(subject: Subject) -> None:
    """The same pool with sixteen rows."""
    same(subject, "rows", replay_rings(subject)(16, 4), 16)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the pool."""
    rows = replay_rings(subject)
    hold_page(
        subject,
        snippets,
        rows,
        cases={
            "12 rows": (12, 4),
            "16 rows": (16, 4),
            "8 rows": (8, 4),
            "24 rows": (24, 4),
        },
        error=ValueError,
        text="spec-verify ring length must be a power of two, got 12",
        rescued=((12, 4), 16),
        passed_on=(8, 5),
        names={"rows": rows, "cache_len": 12, "draft_tokens": 4},
    )
    solutions(subject, snippets)

    masked = sorted({position & (12 - 1) for position in range(24)})
    same(subject, "mask-of-12-misses-rows", masked, [0, 1, 2, 3, 8, 9, 10, 11])


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the pool and with the release's own parser."""
    rows = replay_rings(subject)

    def rounded(cache_len: int) -> int:
        return rows(carried_out(snippets, ROUND_UP, cache_len=cache_len)["cache_len"], 4)

    for cache_len, held in ((12, 16), (16, 16)):
        tried(subject, ROUND_UP, f"{cache_len} rows", partial(rounded, cache_len), held)
    refused = "ValueError: spec-verify ring length must be a power of two, got 12"
    tried(subject, ROUND_UP, "12 rows as they are", lambda: rows(12, 4), refused)
    if subject.version is None:
        return  # the reference has no launch line

    at_launch = "ValueError: --linear-replayssm-cache-len must be a power of two..."
    asked: dict[str, Any] = {
        "line": f"{line_of(CHAIN)} --linear-replayssm-cache-len 12",
        "seen": partial(rows_of, subject),
        "before": said_first(subject, at_launch, refused),
    }
    for title in (ON_THE_LINE, LEAVE_OUT):
        tried_change(subject, snippets, title, **asked, after=16)
