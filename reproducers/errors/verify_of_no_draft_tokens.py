"""A verify input says that there is nothing to verify.

Symptom
-------
`RuntimeError: step must be nonzero`, raised by torch, while the Intel AMX backend derives the
lengths of a verify batch.

Mechanism
---------
Every request of a verify batch extends by `draft_token_num` tokens, the root included, so the
number is at least 1. The start locations are made by `torch.arange(0, bs * n, n)`, and a step of 0
is what torch complains about. The check for a missing `spec_info` stands just before and does not
look at its numbers.
"""

from collections.abc import Mapping

from reproducers.calls.amx import COMMITTED, metadata
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """Two requests whose verify input has no token."""
    subject.value("draft_token_num", 0)
    metadata(subject)(topk=1, draft_token_num=0)


def fix(subject: Subject) -> None:
    """The same requests with the root alone: a verify of zero draft steps."""
    seq_lens, extend, start, _mask = metadata(subject)(topk=1, draft_token_num=1)
    same(subject, "lengths", seq_lens, [n + 1 for n in COMMITTED])
    same(subject, "extend-lengths", extend, [1, 1])
    same(subject, "start-locations", start, [0, 1])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the backend."""
    derive = metadata(subject)

    def lengths(draft_token_num: int) -> list[int]:
        found: list[int] = derive(1, draft_token_num)[0]
        return found

    hold_page(
        subject,
        snippets,
        lengths,
        cases={"0": (0,), "1": (1,), "4": (4,)},
        error=RuntimeError,
        text="step must be nonzero",
        rescued=((0,), [n + 1 for n in COMMITTED]),
        passed_on=("four",),
        names={"lengths": lengths, "draft_steps": 0},
    )
    same(subject, "root-alone-is-a-verify", lengths(1), [n + 1 for n in COMMITTED])
