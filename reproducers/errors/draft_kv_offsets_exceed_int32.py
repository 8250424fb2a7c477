"""A draft batch needs KV index offsets that 32 bits cannot hold.

Symptom
-------
`AssertionError: kv_indices flat offset would overflow int32; reduce batch/topk/context` at startup
or at the first large draft.

Mechanism
---------
For a draft every branch, one a beam of a request, lists the cache entries that it sees, up to the
whole context. The lists stand in one flat buffer, row behind row, and kernels address it with
32-bit offsets. Requests times beams times context must therefore stay below 2^31; beyond it offsets
would wrap around to negative numbers.
"""

from collections.abc import Callable, Mapping

from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


def buffer_width(subject: Subject) -> Callable[[int, int, int], int]:
    """`width(num_seqs, topk, max_context_len)`: entries of the buffer for one step."""
    if subject.version is None:
        from reproducers.reference.widths import draft_kv_indices_buffer_width

        return draft_kv_indices_buffer_width
    utils = subject.load("sglang.srt.speculative.spec_utils")
    width: Callable[[int, int, int], int] = utils.draft_kv_indices_buffer_width
    return width


def trigger(subject: Subject) -> None:
    """4096 requests, eight beams, a context of 131072."""
    subject.value("entries", 4096 * 8 * 131072)
    buffer_width(subject)(4096, 8, 131072)


def fix(subject: Subject) -> None:
    """The same requests and context with one beam and a batch of 2048."""
    same(subject, "entries", buffer_width(subject)(2048, 1, 131072), 2048 * 131072)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the width."""
    width = buffer_width(subject)
    hold_page(
        subject,
        snippets,
        width,
        cases={
            "4096 x 8 x 131072": (4096, 8, 131072),
            "2048 x 1 x 131072": (2048, 1, 131072),
            "2^31": (2**14, 1, 2**17),
            "2^31 less one row": (2**14 - 1, 1, 2**17),
        },
        error=AssertionError,
        text="kv_indices flat offset would overflow int32",
        rescued=((4096, 8, 131072), 2047),
        passed_on=("4096", 8, 131072),
        names={"width": width, "context": 131072, "topk": 8},
        seen=lambda entries: entries // (8 * 131072),
    )
    same(subject, "beams-count", width(2, 3, 5), 30)
