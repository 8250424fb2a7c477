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

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import recurrent_error, ring_decode
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"


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
    small = outcome(lambda: launch(4))
    same(subject, "dividing-is-not-enough", small, "ValueError: BKT=8 must be >=16 for tl.dot.")
