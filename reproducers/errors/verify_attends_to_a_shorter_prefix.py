"""On the Intel AMX backend a verify attends to a prefix that is too short.

Symptom
-------
Nothing is raised. With speculative decoding on a CPU the output is worse than without, most of all
for short prompts; a very short one ends in `prefix len < 0!` from the kernel.

Mechanism
---------
The kernel gets total lengths and finds each prefix by subtracting the drafts. The backend derives
the totals of a verify, committed tokens plus drafts. But `forward_extend` then overwrites them with
the batch's own `seq_lens`, which count the committed tokens alone: the prefix comes out
`draft_token_num` tokens short, and its last tokens are never seen. 0.5.19 no longer overwrites
them. The CPU kernel is replaced by one in plain torch here.
"""

from collections.abc import Mapping

from reproducers.calls.amx import COMMITTED, DRAFT
from reproducers.calls.amx_verify import record_errors, verify_layer
from reproducers.calls.page import hold_page
from reproducers.calls.silent import WrongResultError, expect
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.18"


def trigger(subject: Subject) -> None:
    """Two requests of seven and five committed tokens verify a chain of four."""
    record_errors(subject)
    prefixes, error = verify_layer(subject)(0)
    subject.value("draft_token_num", DRAFT)
    subject.wrong_result(
        expected={"prefixes": COMMITTED, "relative error": 0.0},
        got={"prefixes": prefixes, "relative error": round(error, 3)},
    )


def fix(subject: Subject) -> None:
    """The same verify with the drafts added to the batch's lengths after its metadata are made."""
    prefixes, error = verify_layer(subject)(DRAFT)
    same(subject, "prefixes", prefixes, COMMITTED)
    subject.check("outputs", error < 1e-6, got=error, expected="below 1e-6 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the layer."""
    run = verify_layer(subject)

    def prefixes(added: int) -> list[int]:
        found: list[int] = expect(run(added)[0], COMMITTED)
        return found

    hold_page(
        subject,
        snippets,
        prefixes,
        cases={"as released": (0,), "drafts added": (DRAFT,), "one added": (1,)},
        error=WrongResultError,
        text=f"expected {COMMITTED}",
        rescued=((0,), COMMITTED),
        passed_on=("four",),
        names={"prefixes": prefixes, "draft_token_num": DRAFT},
    )
    short, error = run(0)
    same(subject, "short-by-the-drafts", short, [n - DRAFT for n in COMMITTED])
    subject.check("error-is-large", error > 0.05, got=round(error, 3), expected="above 0.05")
