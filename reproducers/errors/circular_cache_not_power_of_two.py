"""The verify of a circular replay ring is launched for a length that is no power of two.

Symptom
-------
`AssertionError: circular cache requires power-of-two max_cache_len` at the first verify.

Mechanism
---------
The kernel wraps ring positions by a bit mask, which is right for powers of two only. The memory
pool checks the length where it allocates the ring; this is the check of the kernel's own wrapper,
for callers that bring rings of their own. The wrapper here is the release's own; the Triton kernel
behind it is replaced by the same computation in plain torch.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import (
    TOKENS,
    VALUE,
    VALUE_HEADS,
    recurrent_error,
    ring_decode,
)
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"


def trigger(subject: Subject) -> None:
    """A ring of twelve rows."""
    subject.value("max_cache_len", 12)
    ring_decode(subject)(12, mode="verify")


def fix(subject: Subject) -> None:
    """The same verify on a ring of sixteen; outputs against the recurrence."""
    out = ring_decode(subject)(16, mode="verify")
    same(subject, "outputs", list(out.shape), [TOKENS, VALUE_HEADS, VALUE])
    error = recurrent_error(subject, out)
    subject.check("as-the-recurrence", error < 1e-5, got=error, expected="below 1e-5 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    verify = ring_decode(subject)

    def launch(max_cache_len: int) -> float:
        return recurrent_error(subject, verify(max_cache_len, mode="verify"))

    hold_page(
        subject,
        snippets,
        launch,
        cases={"12 rows": (12,), "16 rows": (16,), "8 rows": (8,), "20 rows": (20,)},
        error=AssertionError,
        text="circular cache requires power-of-two max_cache_len",
        rescued=((12,), True),
        passed_on=("12",),
        names={"launch": launch, "rows": 12},
        seen=lambda error: error < 1e-5,
    )
    same(subject, "longer-changes-nothing", launch(64) < 1e-5, True)
