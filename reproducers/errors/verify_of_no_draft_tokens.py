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
from functools import partial

from reproducers.calls.amx import COMMITTED, amx_backend, forward_batch, metadata, verify_input
from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
COUNT = "Count the root"
LEAVE = "Leave verify mode"
NONZERO = "RuntimeError: step must be nonzero"


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
    solutions(subject, snippets)

    same(subject, "root-alone-is-a-verify", lengths(1), [n + 1 for n in COMMITTED])


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the backend."""
    derive = metadata(subject)

    def lengths(steps: int) -> list[int]:
        left = carried_out(snippets, COUNT, speculative_num_steps=steps)
        return list(derive(1, left["draft_token_num"])[0])

    for steps in (0, 3):
        right = [n + steps + 1 for n in COMMITTED]
        tried(subject, COUNT, f"{steps} steps: lengths", partial(lengths, steps), right)
    tried(subject, COUNT, "0 steps as 0 tokens", lambda: derive(1, 0)[0], NONZERO)
    if subject.version is None:
        return  # the reference has no backend that decodes
    backend = amx_backend(subject)
    modes = subject.load("sglang.srt.model_executor.forward_batch_info").ForwardMode

    def left(*, carry_out: bool) -> str:
        batch = forward_batch(subject, verify_input(subject, 1, 0))
        if carry_out:
            carried_out(snippets, LEAVE, forward_batch=batch, ForwardMode=modes)
        return outcome(lambda: backend.init_forward_metadata(batch))

    tried(subject, LEAVE, "a verify of 0 tokens", lambda: left(carry_out=False), NONZERO)
    tried(subject, LEAVE, "the same batch afterwards", lambda: left(carry_out=True), "returns")
