"""The verify of a replay ring is launched with key tiles that do not divide the key size.

Symptom
-------
`ValueError: nk=3 must divide BK=32.` at the first verify.

Mechanism
---------
To save registers the kernel goes through the keys in `nk` tiles of equal size. BK is the key size
rounded up to a power of two, so only powers of two divide it. The wrapper checks before it computes
the tile size.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import recurrent_error, ring_call, ring_decode
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
TWO = "Use 1 or 2"
LEAVE_OUT = "Leave the arguments out"


def trigger(subject: Subject) -> None:
    """Three tiles for keys of 32."""
    subject.value("nk", 3)
    ring_decode(subject)(nk=3, mode="verify")


def fix(subject: Subject) -> None:
    """The same verify with two tiles; outputs against the recurrence."""
    error = recurrent_error(subject, ring_decode(subject)(nk=2, mode="verify"))
    subject.check("as-the-recurrence", error < 1e-5, got=error, expected="below 1e-5 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    verify = ring_decode(subject)

    def launch(nk: int) -> float:
        return recurrent_error(subject, verify(nk=nk, mode="verify"))

    hold_page(
        subject,
        snippets,
        launch,
        cases={"3 tiles": (3,), "2 tiles": (2,), "1 tile": (1,), "5 tiles": (5,)},
        error=ValueError,
        text="nk=3 must divide BK=32.",
        rescued=((3,), True),
        passed_on=(4,),
        names={"launch": launch, "nk": 3},
        seen=lambda error: error < 1e-5,
    )
    solutions(subject, snippets)

    small = outcome(lambda: launch(4))
    same(subject, "dividing-is-not-enough", small, "ValueError: BKT=8 must be >=16 for tl.dot.")


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the wrapper and keys of 32."""
    decode, inputs = ring_call(subject)

    def right(code: Mapping[str, str], title: str) -> bool:
        """Whether the outputs are those of the recurrence."""
        names = {"gdn_replayssm_spec_decode": decode, "inputs": inputs()}
        return recurrent_error(subject, carried_out(code, title, **names)["out"]) < 1e-5

    for tiles, comes_to in (
        (2, True),
        (1, True),
        (3, "ValueError: nk=3 must divide BK=32."),
        (4, "ValueError: BKT=8 must be >=16 for tl.dot."),
    ):
        code = altered(snippets, TWO, "nk=2, nk_flush=2", f"nk={tiles}, nk_flush={tiles}")
        case = f"nk={tiles}: outputs of the recurrence"
        tried(subject, TWO, case, partial(right, code, TWO), comes_to)
    as_recurrence = "outputs are those of the recurrence"
    tried(subject, LEAVE_OUT, as_recurrence, partial(right, snippets, LEAVE_OUT), expected=True)
