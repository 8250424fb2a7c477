"""The verify of a replay ring is launched with key tiles too small for a matrix product.

Symptom
-------
`ValueError: BKT=8 must be >=16 for tl.dot.` at the first verify.

Mechanism
---------
The kernel multiplies tiles of keys by `tl.dot`, which takes 16 or more along the inner dimension.
The tile is BK divided by nk, the key size rounded up to a power of two by the number of tiles. Too
many tiles for a small key size are refused before the launch.
"""

from collections.abc import Mapping
from functools import partial

from reproducers.calls.page import hold_page
from reproducers.calls.ring_decode import KEY, recurrent_error, ring_call, ring_decode
from reproducers.checks import same
from reproducers.snippets import outcome
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
FEWER = "Use fewer tiles"
ONE = "Use one tile for very small keys"


def trigger(subject: Subject) -> None:
    """Four tiles for keys of 32."""
    subject.value("nk", 4)
    ring_decode(subject)(nk=4, mode="verify")


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
        cases={"4 tiles": (4,), "2 tiles": (2,), "1 tile": (1,), "8 tiles": (8,)},
        error=ValueError,
        text="BKT=8 must be >=16 for tl.dot.",
        rescued=((4,), True),
        passed_on=(3,),
        names={"launch": launch, "keys": KEY},
        seen=lambda error: error < 1e-5,
    )
    solutions(subject, snippets)

    flush = outcome(lambda: verify(nk=2, mode="flush"))
    same(subject, "default-tiles-need-32-keys", [flush, KEY // 2], ["returns", 16])


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the wrapper and keys of 32, 128 and 16."""
    decode, inputs = ring_call(subject)

    def right(code: Mapping[str, str], title: str, keys: int) -> bool:
        """Whether the outputs are those of the recurrence."""
        given = inputs(keys=keys)
        names = {"gdn_replayssm_spec_decode": decode, "inputs": given, "q": given["q"]}
        return recurrent_error(subject, carried_out(code, title, **names)["out"], keys) < 1e-5

    refused = "ValueError: BKT=8 must be >=16 for tl.dot."
    for title, keys, old, new in (
        (FEWER, 32, "// 16", "// 8"),
        (FEWER, 128, "min(8, q.shape[-1] // 16)", "16"),
        (ONE, 16, ", nk=1, nk_flush=1", ""),
        (ONE, 16, ", nk_flush=1", ""),
    ):
        case = f"{keys} keys: outputs of the recurrence"
        tried(subject, title, case, partial(right, snippets, title, keys), expected=True)
        code = altered(snippets, title, old, new)
        case = f"{keys} keys, {new or 'without'} in place of {old.lstrip(', ')}"
        tried(subject, title, case, partial(right, code, title, keys), refused)
