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
from functools import partial

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import KEY, recurrent_update
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.13,<=0.5.23"
REFERENCE = True
LEAVE_OUT = "Leave it out"
POSITIVE = "Pass a positive number"


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
    solutions(subject, snippets)

    ratio = attend(2 * KEY**-0.5) / default
    subject.check("outputs-grow-with-it", abs(ratio - 2) < 1e-4, got=ratio, expected=2)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the wrapper."""
    update = recurrent_update(subject)
    right = update(scale=KEY**-0.5)

    def as_of_key_size(code: Mapping[str, str], title: str) -> bool:
        """Whether the outputs are those of the scale of the key size."""
        names = {"fused_sigmoid_gating_delta_rule_update": update, "inputs": {"is_kda": False}}
        return bool((carried_out(code, title, **names, head_k_dim=KEY)["out"] == right).all())

    for title in (LEAVE_OUT, POSITIVE):
        said = "outputs are those of head_k_dim ** -0.5"
        tried(subject, title, said, partial(as_of_key_size, snippets, title), expected=True)
    slip = altered(snippets, POSITIVE, "head_k_dim**-0.5", "-head_k_dim**0.5")
    refused = "AssertionError: scale must be positive..."
    tried(subject, POSITIVE, "-head_k_dim**0.5", partial(as_of_key_size, slip, POSITIVE), refused)
