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
from functools import partial
from typing import Any

from reproducers.calls.launch import QWEN3_NEXT, line_of, resolved
from reproducers.calls.mamba_pool import replay_rings
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.errors.replayssm_spec_needs_linear_chain import CHAIN, in_words_of, is_0_5_16
from reproducers.solutions import carried_out, tried, tried_change
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
LONGER = "Lengthen the ring"
ON_THE_LINE = "Lengthen it on the launch line"
FEWER = "Draft fewer tokens"


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
    solutions(subject, snippets)

    same(subject, "exactly-twice-is-enough", rows(16, 8), 16)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the pool and with the release's own parser."""
    rows = replay_rings(subject)

    def lengthened(draft_tokens: int) -> int:
        names = {"draft_tokens": draft_tokens}
        return rows(carried_out(snippets, LONGER, **names)["cache_len"], draft_tokens)

    for draft_tokens, held in ((5, 16), (4, 8), (9, 32)):
        case = f"{draft_tokens} draft tokens"
        tried(subject, LONGER, case, partial(lengthened, draft_tokens), held)
    refused = "ValueError: spec-verify ring too small: 8 < 2 * 5 (early-flush margin)"
    tried(subject, LONGER, "8 rows for 5", lambda: rows(8, 5), refused)
    if subject.version is None:
        return  # the reference has no launch line

    four_steps = CHAIN | {"speculative_num_steps": 4, "speculative_num_draft_tokens": 5}
    at_launch = "ValueError: --linear-replayssm-cache-len must be >= 2 * the maximum..."
    asked: dict[str, Any] = {
        "line": f"{line_of(four_steps)} --linear-replayssm-cache-len 8",
        "seen": partial(rows_of, subject),
        "before": said_first(subject, at_launch, refused),
    }
    for title, held in ((ON_THE_LINE, 16), (FEWER, 8)):
        tried_change(subject, snippets, title, **asked, after=held)


def rows_of(subject: Subject, line: str) -> int:
    """Rows of the rings of a pool that is built with the settings of this launch line."""
    settings = resolved(subject, in_words_of(subject, line), model=QWEN3_NEXT)
    lengths = ("linear_replayssm_cache_len", "speculative_num_draft_tokens")
    return replay_rings(subject)(*(settings[name] for name in lengths))


def said_first(subject: Subject, at_launch: str, by_pool: str) -> str:
    """Which refusal of a ring comes first: 0.5.16 looks at the launch line, later ones do not."""
    return at_launch if is_0_5_16(subject) else by_pool
