"""The width of a verify is asked for without the speculative algorithm.

Symptom
-------
`AttributeError: 'NoneType' object has no attribute 'get_num_tokens_per_req_for_target_verify'`
while a graph runner or an attention backend is built.

Mechanism
---------
Two of the three speculative phases have a width that stands in the settings. The third,
`target_verify`, asks the algorithm, because some verify another number of tokens than they draft.
The parameter has a default of `None`, so that it can be left out for the other two; left out here,
the method is looked up on `None`.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.errors.unknown_speculative_phase import DRAFT, TOPK, eagle, width_of
from reproducers.solutions import altered, carried_out, tried
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True
GIVEN = "Pass the algorithm"
PHASE = "Ask for the phase that you mean"


def trigger(subject: Subject) -> None:
    """The width of a verify, without an algorithm."""
    subject.value("spec_algorithm", None)
    width_of(subject, "target_verify", spec_algorithm=None)


def fix(subject: Subject) -> None:
    """The same phase with the algorithm."""
    same(subject, "width", width_of(subject, "target_verify"), DRAFT)


def claims(subject: Subject, snippets: Mapping[str, str]) -> None:
    """The page's code against the function."""
    algorithm = eagle(subject)

    def width(phase: str, spec_algorithm: Any = None) -> Any:
        return width_of(subject, phase, spec_algorithm=spec_algorithm)

    hold_page(
        subject,
        snippets,
        width,
        cases={
            "verify without": ("target_verify", None),
            "verify with": ("target_verify", algorithm),
            "draft without": ("draft_decode", None),
            "extend without": ("draft_extend", None),
        },
        error=AttributeError,
        text="has no attribute 'get_num_tokens_per_req_for_target_verify'",
        rescued=(("target_verify", None), DRAFT),
        passed_on=("verify", None),
        names={"width": width, "spec_algorithm": algorithm},
    )
    solutions(subject, snippets)

    same(subject, "draft-phases-do-not-ask", width("draft_extend"), DRAFT)


def solutions(subject: Subject, snippets: Mapping[str, str]) -> None:
    """Each way out of the page, gone with the function on a server with a tree of 16."""

    def resolve(*, phase: str, spec_algorithm: Any = None) -> Any:
        return width_of(subject, phase, spec_algorithm=spec_algorithm)

    def widths(code: Mapping[str, str], title: str) -> list[Any]:
        runner = SimpleNamespace(spec_algorithm=eagle(subject))
        names = {"resolve_num_tokens_per_req": resolve, "model_runner": runner}
        left = carried_out(code, title, **names)
        return [value for name, value in left.items() if name.endswith("width")]

    without = altered(snippets, GIVEN, ", spec_algorithm=model_runner.spec_algorithm", "")
    verify = altered(snippets, PHASE, '"draft_decode"', '"target_verify"')
    refused = "AttributeError: 'NoneType' object has no attribute..."
    tried(subject, GIVEN, "EAGLE, 16 draft tokens", lambda: widths(snippets, GIVEN), [DRAFT])
    tried(subject, GIVEN, "the algorithm left out", lambda: widths(without, GIVEN), refused)
    tried(subject, PHASE, "topk 4, 16", lambda: widths(snippets, PHASE), [TOPK, DRAFT])
    tried(subject, PHASE, "`target_verify`", lambda: widths(verify, PHASE), refused)
