"""The verify of a circular replay ring is told another length than its rings have.

Symptom
-------
`AssertionError` without a word at the first verify, from the line after the one that wants a power
of two.

Mechanism
---------
The wrapper takes the ring's length as a number of its own, `max_cache_len`, and wraps positions by
a mask of that number less one. Rings bring a length too, their dimension 2. If the number is
larger, the kernel would write behind a slot's rows, into those of the next head; if it is smaller,
rows would never be used. Only the ring of corrected values is compared, and only its rows. The
wrapper here is the release's own; the Triton kernel behind it is replaced by the same computation
in plain torch.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import (
    TOKENS,
    VALUE,
    VALUE_HEADS,
    recurrent_error,
    ring_decode,
    rings,
)
from reproducers.checks import same
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
RINGS_OWN = "Pass the rings' own length"
POOLS_LENGTH = "Allocate the rings for the length that you pass"


def trigger(subject: Subject) -> None:
    """Rings of eight rows, a length of sixteen."""
    subject.value("rows of the rings", 8)
    subject.value("max_cache_len", 16)
    ring_decode(subject)(16, mode="verify", rows=8)


def fix(subject: Subject) -> None:
    """The same verify with the rings' own length; outputs against the recurrence."""
    out = ring_decode(subject)(8, mode="verify", rows=8)
    same(subject, "outputs", list(out.shape), [TOKENS, VALUE_HEADS, VALUE])
    error = recurrent_error(subject, out)
    subject.check("as-the-recurrence", error < 1e-5, got=error, expected="below 1e-5 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    verify = ring_decode(subject)

    def launch(max_cache_len: int, rows: int) -> bool:
        """Whether outputs are those of the recurrence."""
        return recurrent_error(subject, verify(max_cache_len, mode="verify", rows=rows)) < 1e-5

    hold_page(
        subject,
        snippets,
        launch,
        cases={
            "16, rings of 8": (16, 8),
            "16, rings of 16": (16, 16),
            "8, rings of 8": (8, 8),
            "8, rings of 16": (8, 16),
        },
        error=AssertionError,
        text="",
        rescued=((16, 8), True),
        passed_on=(12, 12),
        names={"launch": launch, "rows": 8},
    )
    given = rings(subject, 8)
    length = carried_out(snippets, RINGS_OWN, d_cache=given["d_cache"])["max_cache_len"]
    tried(subject, RINGS_OWN, "rings of 8, so passed", lambda: launch(length, 8), expected=True)
    tried(subject, RINGS_OWN, "rings of 8, 16 passed", lambda: launch(16, 8), "AssertionError: ")
    shape = {"slots": 3, "HV": VALUE_HEADS, "V": VALUE, "max_cache_len": 16}
    made = carried_out(snippets, POOLS_LENGTH, torch=subject.torch, **shape)["d_cache"].shape
    same(subject, "rings-are-of-the-length", list(made), [3, VALUE_HEADS, 16, VALUE])
    tried(subject, POOLS_LENGTH, "16, rings so made", lambda: launch(16, made[2]), expected=True)
    same(subject, "length-is-not-the-draft", launch(8, 8) and launch(64, 64), True)
