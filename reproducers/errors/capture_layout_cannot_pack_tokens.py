"""A graph is to be captured for more tokens than its rows can hold.

Symptom
-------
`ValueError: capture layout cannot pack num_tokens=13 into 3 rows of at most 4 tokens` while graphs
for ragged verify are captured.

Mechanism
---------
A tier's graph is captured with a stand-in batch: its tokens spread evenly over the captured rows.
A row verifies at most `num_draft_tokens`, so rows times that number is the most that a tier can
have. A tier above it could never be filled by real requests either.
"""

from collections.abc import Mapping
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import ragged_verify
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
LEAVE_OUT = "Leave the tier out"
MORE_ROWS = "Capture it with more rows"
FROM_SIZES = "Make the grid from the batch sizes"


def trigger(subject: Subject) -> None:
    """Thirteen tokens for three rows of four."""
    subject.value("num_tokens", 13)
    build = ragged_verify(subject).build_capture_verify_lens
    build(num_tokens=13, num_slots=3, num_draft_tokens=4)


def fix(subject: Subject) -> None:
    """The most that three rows of four can hold, and a number that does not divide evenly."""
    build = ragged_verify(subject).build_capture_verify_lens
    full = build(num_tokens=12, num_slots=3, num_draft_tokens=4)
    same(subject, "full-rows", full, [4, 4, 4])
    uneven = build(num_tokens=11, num_slots=3, num_draft_tokens=4)
    same(subject, "uneven-rows", uneven, [4, 4, 3])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the capture layout."""
    build = ragged_verify(subject).build_capture_verify_lens

    def pack(num_tokens: int, num_slots: int, num_draft_tokens: int) -> list[int]:
        lens: list[int] = build(
            num_tokens=num_tokens, num_slots=num_slots, num_draft_tokens=num_draft_tokens
        )
        return lens

    hold_page(
        subject,
        snippets,
        pack,
        cases={
            "13 in 3 rows of 4": (13, 3, 4),
            "12 in 3 rows of 4": (12, 3, 4),
            "3 in 3 rows of 1": (3, 3, 1),
            "4 in 3 rows of 1": (4, 3, 1),
        },
        error=ValueError,
        text="capture layout cannot pack num_tokens=13 into 3 rows of at most 4 tokens",
        rescued=((13, 3, 4), [4, 4, 4]),
        passed_on=(2, 3, 4),
        names={"pack": pack, "rows": 3, "num_draft_tokens": 4},
    )
    same(subject, "evenly-not-greedily", pack(7, 3, 4), [3, 2, 2])
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: what it gives is captured in rows of at most four tokens."""
    build = ragged_verify(subject).build_capture_verify_lens

    def rows(num_tokens: int, num_slots: int = 3) -> list[int]:
        return list(build(num_tokens=num_tokens, num_slots=num_slots, num_draft_tokens=4))

    def captured(grid: list[int]) -> list[list[int]]:
        return [rows(tier) for tier in grid]

    def left(title: str, name: str, **names: object) -> Any:
        return carried_out(snippets, title, num_draft_tokens=4, **names)[name]

    refused = "ValueError: capture layout cannot pack num_tokens={} into 3 rows of at most 4 tokens"
    grid, sizes = [4, 8, 16], [1, 2, 3]
    few, kept = left(LEAVE_OUT, "grid", grid=grid, max_bs=3), [[2, 1, 1], [3, 3, 2]]
    tried(subject, LEAVE_OUT, "tiers 4, 8, 16 in 3 rows", lambda: captured(few), kept)
    tried(subject, LEAVE_OUT, "all of them", lambda: captured(grid), refused.format(16))
    slots = left(MORE_ROWS, "num_slots", num_tokens=13)
    tried(subject, MORE_ROWS, "13 tokens", lambda: rows(13, slots), [4, 3, 3, 3])
    tried(subject, MORE_ROWS, "13 tokens in 3 rows", lambda: rows(13), refused.format(13))
    made, full = left(FROM_SIZES, "grid", capture_bs=sizes), [[2, 1, 1], [3, 3, 2], [4, 4, 4]]
    tried(subject, FROM_SIZES, "1, 2 and 3 requests", lambda: captured(made), full)
