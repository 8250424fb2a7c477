"""A ragged verify layout states a total that is not the sum of its lengths.

Symptom
-------
`ValueError: total_verify_tokens 3 != sum(verify_lens_cpu) 2` while a layout is put together.

Mechanism
---------
A layout carries the lengths and their sum. The sum chooses the graph's tier and bounds the tokens
that are copied into it; the lengths say where each request's tokens are. If they disagree, tokens
would be left out or foreign ones taken in, so the layout refuses to exist.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.ragged import assembled, starts
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """One request of two tokens, and a total of three."""
    subject.value("total_verify_tokens", 3)
    subject.value("verify_lens", [2])
    assembled(subject)([2], 3, 8)


def fix(subject: Subject) -> None:
    """The same length with its own sum."""
    layout = assembled(subject)([2], 2, 8)
    same(subject, "tokens", layout.total_verify_tokens, 2)
    same(subject, "starts", starts(layout), [0])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the layout."""
    assemble = assembled(subject)
    hold_page(
        subject,
        snippets,
        assemble,
        cases={
            "3 for [2]": ([2], 3, 8),
            "2 for [2]": ([2], 2, 8),
            "4 for [3, 2]": ([3, 2], 4, 8),
            "5 for [3, 2]": ([3, 2], 5, 8),
        },
        error=ValueError,
        text="total_verify_tokens 3 != sum(verify_lens_cpu) 2",
        rescued=(([2], 3, 8), 2),
        passed_on=([0, 2], 2, 8),
        names={"assemble": assemble, "verify_lens": [2], "num_tokens": 3},
        seen=lambda layout: layout.total_verify_tokens,
    )
    same(subject, "tier-may-be-larger", assemble([2], 2, 8).graph_num_tokens, 8)
