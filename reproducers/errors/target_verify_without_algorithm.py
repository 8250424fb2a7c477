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
from typing import Any

from reproducers.calls.page import hold_page
from reproducers.checks import same
from reproducers.errors.unknown_speculative_phase import DRAFT, eagle, width_of
from reproducers.upstream.subject import Subject

RELEASES = "sglang >=0.5.16,<=0.5.23"
REFERENCE = True


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
    same(subject, "draft-phases-do-not-ask", width("draft_extend"), DRAFT)
