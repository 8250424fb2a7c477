"""The verify of a replay ring is asked to fold, but has no raw rows to fold from.

Symptom
-------
`ValueError: raw replay buffers are required for exact-fold launch` at the first verify.

Mechanism
---------
A slot whose ring is nearly full is folded first: its state is advanced by the raw values, keys and
strengths of the accepted tokens. A compact ring stores other records and no raw ones; with it the
wrapper can only verify (`launch_mode="verify"`), and folding is somebody else's task. Asked for
both, it misses the raw rows and says so before anything is launched.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import recurrent_error, ring_decode
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.20,<=0.5.23"


def trigger(subject: Subject) -> None:
    """Both launches without raw rows."""
    subject.value("launch_mode", "both")
    ring_decode(subject)(raw=False, mode="both")


def fix(subject: Subject) -> None:
    """The same rings, verify alone; outputs against the recurrence."""
    error = recurrent_error(subject, ring_decode(subject)(raw=False, mode="verify"))
    subject.check("as-the-recurrence", error < 1e-5, got=error, expected="below 1e-5 relative")
    error = recurrent_error(subject, ring_decode(subject)(raw=True, mode="both"))
    subject.check("with-raw-rows", error < 1e-5, got=error, expected="below 1e-5 relative")


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    verify = ring_decode(subject)

    def launch(raw: bool, mode: str) -> float:  # noqa: FBT001  # one call of few options
        return recurrent_error(subject, verify(raw=raw, mode=mode))

    hold_page(
        subject,
        snippets,
        launch,
        cases={
            "both without raw rows": (False, "both"),
            "verify without raw rows": (False, "verify"),
            "both with raw rows": (True, "both"),
            "flush without raw rows": (False, "flush"),
        },
        error=ValueError,
        text="raw replay buffers are required for exact-fold launch",
        rescued=((False, "both"), True),
        passed_on=lambda: int("no number"),
        names={"launch": launch},
        seen=lambda error: error < 1e-5,
    )
    same(subject, "verify-needs-no-raw-rows", launch(raw=False, mode="verify") < 1e-5, True)
