"""A replay ring holds less than two verifies.

Symptom
-------
`ValueError: spec-verify ring too small: 8 < 2 * 5 (early-flush margin)` while the memory pool is
built.

Mechanism
---------
A slot is flushed one verify early: as soon as the next two would not fit any more. That way a full
window always fits behind the history, whatever was accepted. A ring shorter than two windows would
have to flush before every verify and still could not hold the second, so the pool refuses it.
"""

from collections.abc import Mapping

from reproducers.calls.mamba_pool import replay_rings
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """Eight rows for a draft of five tokens."""
    subject.value("cache_len", 8)
    subject.value("draft_tokens", 5)
    replay_rings(subject)(8, 5)


def fix(subject: Subject) -> None:
    """The same draft with sixteen rows, and eight rows for a draft of four."""
    rows = replay_rings(subject)
    same(subject, "rows-for-five", rows(16, 5), 16)
    same(subject, "rows-for-four", rows(8, 4), 8)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the pool."""
    rows = replay_rings(subject)
    hold_page(
        subject,
        snippets,
        rows,
        cases={
            "8 for 5": (8, 5),
            "8 for 4": (8, 4),
            "16 for 8": (16, 8),
            "16 for 9": (16, 9),
        },
        error=ValueError,
        text="spec-verify ring too small: 8 < 2 * 5 (early-flush margin)",
        rescued=((8, 5), 16),
        passed_on=(12, 4),
        names={"rows": rows, "draft_tokens": 5},
    )
    same(subject, "exactly-twice-is-enough", rows(16, 8), 16)
