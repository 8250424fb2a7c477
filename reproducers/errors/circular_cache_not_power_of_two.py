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

from reproducers.calls.launch import QWEN3_NEXT, resolved
from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import (
    TOKENS,
    VALUE,
    VALUE_HEADS,
    recurrent_error,
    ring_decode,
)
from reproducers.checks import same
from reproducers.solutions import carried_out, code_of, lines_of, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
POWER_OF_TWO = "Allocate rings with a power of two"
FLAG = "Set `--linear-replayssm-cache-len` to a power of two"


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
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page: the length that it gives goes to the wrapper."""
    verify = ring_decode(subject)

    def right(max_cache_len: int) -> bool:
        return recurrent_error(subject, verify(max_cache_len, mode="verify")) < 1e-5

    def rounded(rows: int) -> int:
        return int(carried_out(snippets, POWER_OF_TWO, rows=rows)["max_cache_len"])

    refused = "AssertionError: circular cache requires power-of-two max_cache_len..."
    tried(
        subject,
        POWER_OF_TWO,
        "12 rows: as the recurrence",
        lambda: right(rounded(12)),
        expected=True,
    )
    tried(subject, POWER_OF_TWO, "12 rows, not rounded", lambda: right(12), refused)

    def length(line: str) -> int:
        settings = resolved(subject, f"--device cuda {line}", model=QWEN3_NEXT)
        return int(settings["linear_replayssm_cache_len"])

    before, after = lines_of(code_of(snippets, FLAG))
    tried(subject, FLAG, "the line before", lambda: right(length(before)), refused)
    tried(
        subject,
        FLAG,
        "the line after: as the recurrence",
        lambda: right(length(after)),
        expected=True,
    )
    tried(subject, FLAG, "the default", lambda: length(""), 16)
