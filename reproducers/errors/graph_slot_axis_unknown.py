"""A graph input buffer is declared along an axis that no batch has.

Symptom
-------
`ValueError: GraphSlot 'x': axis must be one of 'bs'/'tokens'/'none', got 'rows'` while a graph
runner is built.

Mechanism
---------
A slot mirrors one field of the batch in a buffer of fixed size. Its axis says how much of the
buffer a batch uses: a row for each request (`bs`), a row for each token (`tokens`), or always all
of it (`none`). The word decides how the buffer is sliced at every replay, so it is checked when the
slot is declared.
"""

from collections.abc import Mapping

from reproducers.calls.graph_buffers import (
    MAX_BS,
    MAX_TOKENS,
    names_of,
    registers,
    rows_of,
    slot_maker,
)
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
WHAT_A_ROW_IS = "Say what a row is"
SLICE_FN = "Give a `slice_fn` for another layout"


def trigger(subject: Subject) -> None:
    """A slot along `rows`."""
    subject.value("axis", "rows")
    slot_maker(subject)("x", "rows")


def fix(subject: Subject) -> None:
    """The same slot along each axis there is; its buffer is as long as that axis."""
    make, register = slot_maker(subject), registers(subject)
    for axis, rows in (("bs", MAX_BS), ("tokens", MAX_TOKENS), ("none", 1)):
        same(subject, f"rows-along-{axis}", len(rows_of(register(make("x", axis)))), rows)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the slot."""
    make = slot_maker(subject)
    hold_page(
        subject,
        snippets,
        make,
        cases={
            "rows": ("x", "rows"),
            "bs": ("x", "bs"),
            "tokens": ("x", "tokens"),
            "none": ("x", "none"),
            "Tokens": ("x", "Tokens"),
            "batch": ("x", "batch"),
        },
        error=ValueError,
        text="GraphSlot 'x': axis must be one of 'bs'/'tokens'/'none', got 'rows'",
        rescued=(("x", "rows"), "none"),
        passed_on=("x", "bs", "NO_SUCH_POLICY"),
        names={"make": make},
        seen=lambda slot: slot.axis,
    )
    same(subject, "tokens-by-default", make("x").axis, "tokens")
    if subject.version is not None:
        solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, shapes of the rows that are used."""

    def used(given: Mapping[str, str], title: str, requests: int, tokens: int) -> list[int]:
        slot = carried_out(given, title, **names_of(subject))["slot"]
        return list(slot.slice_for(requests, tokens).shape)

    refused = "ValueError: GraphSlot {!r}: axis must be one of 'bs'/'tokens'/'none', got {!r}"
    rows = altered(snippets, WHAT_A_ROW_IS, '"bs"', '"rows"')
    tried(
        subject,
        WHAT_A_ROW_IS,
        "1 request of 3 tokens",
        lambda: used(snippets, WHAT_A_ROW_IS, 1, 3),
        [1],
    )
    tried(
        subject,
        WHAT_A_ROW_IS,
        "`rows` in its place",
        lambda: used(rows, WHAT_A_ROW_IS, 1, 3),
        refused.format("accept_lens", "rows"),
    )
    columns = altered(snippets, SLICE_FN, '"tokens"', '"columns"')
    tried(
        subject, SLICE_FN, "1 request of 4 tokens", lambda: used(snippets, SLICE_FN, 1, 4), [3, 4]
    )
    tried(
        subject,
        SLICE_FN,
        "`columns` in its place",
        lambda: used(columns, SLICE_FN, 1, 4),
        refused.format("my_positions", "columns"),
    )
