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

from reproducers.calls.amx import COMMITTED, amx_backend, forward_batch, verify_input
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"


def trigger(subject: Subject) -> None:
    """Two requests whose verify input has no token."""
    subject.value("draft_token_num", 0)
    batch = forward_batch(subject, verify_input(subject, topk=1, draft_token_num=0))
    amx_backend(subject).init_forward_metadata(batch)


def fix(subject: Subject) -> None:
    """The same requests with the root alone: a verify of zero draft steps."""
    backend = amx_backend(subject)
    batch = forward_batch(subject, verify_input(subject, topk=1, draft_token_num=1))
    backend.init_forward_metadata(batch)
    seq_lens, extend, start, _mask = backend.extend_metadata
    same(subject, "lengths", seq_lens.tolist(), [n + 1 for n in COMMITTED])
    same(subject, "extend-lengths", extend.tolist(), [1, 1])
    same(subject, "start-locations", start.tolist(), [0, 1])


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the backend."""
    backend = amx_backend(subject)

    def lengths(draft_token_num: int) -> list[int]:
        batch = forward_batch(subject, verify_input(subject, 1, draft_token_num))
        backend.init_forward_metadata(batch)
        return list(backend.extend_metadata[0].tolist())

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
