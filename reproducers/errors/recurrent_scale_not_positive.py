"""Recurrent linear attention is called with a scale that is not positive.

Symptom
-------
`AssertionError: scale must be positive` at the first forward pass of a layer.

Mechanism
---------
Queries are multiplied by a scale, by default one over the square root of the key size. A scale of 0
gives outputs of 0, a negative one outputs of the wrong sign, and neither would be noticed. So a
scale that is given must be above 0; one that is left out is computed.
"""

from collections.abc import Mapping

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import KEY, recurrent_update
from reproducers.checks import same
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True


def trigger(subject: Subject) -> None:
    """A scale of -1."""
    subject.value("scale", -1.0)
    recurrent_update(subject)(scale=-1.0)


def fix(subject: Subject) -> None:
    """The same layer with the scale of its key size, given and left out."""
    update = recurrent_update(subject)
    given, default = update(scale=KEY**-0.5), update(scale=None)
    same(subject, "default-is-key-size", bool((given == default).all()), True)
    same(subject, "not-zero", bool(given.any()), True)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    update = recurrent_update(subject)

    def attend(scale: float | None) -> float:
        return float(update(scale=scale).norm())

    default = attend(None)
    hold_page(
        subject,
        snippets,
        attend,
        cases={"-1": (-1.0,), "0": (0.0,), "none": (None,), "0.25": (0.25,)},
        error=AssertionError,
        text="scale must be positive",
        rescued=((-1.0,), True),
        passed_on=("one",),
        names={"attend": attend, "keys": KEY},
        seen=lambda norm: abs(norm - default) < 1e-4,
    )
    ratio = attend(2 * KEY**-0.5) / default
    subject.check("outputs-grow-with-it", abs(ratio - 2) < 1e-4, got=ratio, expected=2)
