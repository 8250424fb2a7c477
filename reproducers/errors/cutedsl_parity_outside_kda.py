"""Parity with the CuTe decode kernel is asked for where it is not defined.

Symptom
-------
`ValueError: match_cutedsl_decode is defined for the KDA softplus gate only (is_kda=True,
lower_bound=None).`

Mechanism
---------
The Triton kernel can round step by step as flashinfer's CuTe kernel does, so that verification and
decoding agree to the bit. That kernel exists for KDA with the softplus gate only. For GDN, or with
the safe gate (`lower_bound`), there is nothing to agree with, and the option is refused.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.calls.recurrent_update import (
    REQUESTS,
    TOKENS,
    VALUE,
    VALUE_HEADS,
    recurrent_update,
)
from reproducers.checks import same
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.22,<=0.5.23"
NO_OPTION = "Leave the option out"
IS_KDA = "Say that the layer is KDA"


def trigger(subject: Subject) -> None:
    """A GDN layer with the option."""
    subject.value("is_kda", False)
    recurrent_update(subject)(is_kda=False, match_cutedsl_decode=True)


def fix(subject: Subject) -> None:
    """The same layer without the option, and a KDA layer with it."""
    update = recurrent_update(subject)
    shape = [1, REQUESTS * TOKENS, VALUE_HEADS, VALUE]
    same(subject, "gdn-without", list(update(is_kda=False).shape), shape)
    same(subject, "kda-with", list(update(is_kda=True, match_cutedsl_decode=True).shape), shape)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the wrapper."""
    update = recurrent_update(subject)

    def attend(is_kda: bool, lower_bound: float | None, match: bool) -> list[int]:  # noqa: FBT001  # three options
        out = update(is_kda=is_kda, lower_bound=lower_bound, match_cutedsl_decode=match)
        return list(out.shape)

    shape = [1, REQUESTS * TOKENS, VALUE_HEADS, VALUE]
    hold_page(
        subject,
        snippets,
        attend,
        cases={
            "GDN, with": (False, None, True),
            "GDN, without": (False, None, False),
            "KDA, with": (True, None, True),
            "KDA with a bound, with": (True, -5.0, True),
            "KDA with a bound, without": (True, -5.0, False),
        },
        error=ValueError,
        text="match_cutedsl_decode is defined for the KDA softplus gate only",
        rescued=((False, None, True), shape),
        passed_on=lambda: int("no number"),
        names={"attend": attend, "is_kda": False},
    )
    same(subject, "safe-gate-works-without", attend(True, -5.0, False), shape)
    solutions(subject, snippets)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the release's own wrapper."""
    update = recurrent_update(subject)

    def attended(given: Mapping[str, str], title: str, **options: Any) -> list[int]:
        names: dict[str, Any] = {"inputs": {}, "options": {"match_cutedsl_decode": True} | options}
        names["fused_sigmoid_gating_delta_rule_update"] = update
        return list(carried_out(given, title, **names)["out"].shape)

    shape = [1, REQUESTS * TOKENS, VALUE_HEADS, VALUE]
    refused = "ValueError: match_cutedsl_decode is defined for the KDA softplus gate only..."
    kept = altered(snippets, NO_OPTION, 'options.pop("match_cutedsl_decode", None)', "")
    for case, options in (("GDN", {}), ("KDA with a bound", {"is_kda": True, "lower_bound": -5.0})):
        left, given = partial(attended, snippets, NO_OPTION), partial(attended, kept, NO_OPTION)
        tried(subject, NO_OPTION, case, partial(left, **options), shape)
        tried(subject, NO_OPTION, f"{case}, with the option", partial(given, **options), refused)
    unsaid = altered(snippets, IS_KDA, "is_kda=True, ", "")
    tried(subject, IS_KDA, "KDA", partial(attended, snippets, IS_KDA), shape)
    tried(subject, IS_KDA, "not said", partial(attended, unsaid, IS_KDA), refused)
