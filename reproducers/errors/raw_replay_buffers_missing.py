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
from functools import partial

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import recurrent_error, ring_call, ring_decode
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.20,<=0.5.23"
VERIFY_ONLY = "Verify only"
RAW_ROWS = "Pass the raw rows"


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
    solutions(subject, snippets)

    same(subject, "verify-needs-no-raw-rows", launch(raw=False, mode="verify") < 1e-5, True)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the wrapper and rings without raw rows."""
    decode, inputs = ring_call(subject)
    kept = inputs(raw=True)
    rows = {name: kept[f"{name}_cache"] for name in ("rawv", "rawk", "beta")}

    def right(code: Mapping[str, str], title: str) -> bool:
        """Whether the outputs are those of the recurrence."""
        names = {"gdn_replayssm_spec_decode": decode, "inputs": inputs(raw=False), **rows}
        return recurrent_error(subject, carried_out(code, title, **names)["out"]) < 1e-5

    refused = "ValueError: raw replay buffers are required for exact-fold launch..."
    for title, case, left_out in (
        (VERIFY_ONLY, "the mode left out", ', launch_mode="verify"'),
        (RAW_ROWS, "one of the three left out", ', "beta_cache": beta'),
    ):
        without = altered(snippets, title, left_out, "")
        as_recurrence = "outputs are those of the recurrence"
        tried(subject, title, as_recurrence, partial(right, snippets, title), expected=True)
        tried(subject, title, case, partial(right, without, title), refused)
