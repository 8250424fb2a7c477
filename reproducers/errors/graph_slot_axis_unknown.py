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

from reproducers.calls.graph_buffers import MAX_BS, MAX_TOKENS, registers, rows_of, slot_maker
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


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
