"""The lines of the log that a finding rests on."""

from typing import Final

from app.diagnosis.case import Case
from app.diagnosis.causes import Draft, Group
from app.diagnosis.engines import engine_frame
from app.diagnosis.places import canonical
from app.diagnosis.result import Evidence

_LONGEST: Final = 2_000


_MOST_EVIDENCE: Final = 12


def evidence_of(group: Group, case: Case) -> list[Evidence]:
    """Messages, frames and headers of a group, those of its first draft first."""
    found: list[Evidence] = []
    for draft in group.drafts:
        if len(found) >= _MOST_EVIDENCE:
            break
        found += _of_draft(draft, case)
    return found[:_MOST_EVIDENCE]


def _of_draft(draft: Draft, case: Case) -> list[Evidence]:
    unit, found = draft.unit, []
    if draft.announced is not None:
        told = draft.announced.lines[0]
        found.append(
            Evidence(
                "message",
                told.number,
                told.text[:_LONGEST],
                *(told.span(0, len(told.text)) if case.shown else (None, None)),
            )
        )
    elif unit.lines:
        start, end = draft.match.span if draft.match else (unit.begin, unit.end)
        line, column = unit.line_of(max(start, 0))
        stop = min(column + max(end - start, 1), len(line.text))
        a, b = line.span(column, stop)
        found.append(
            Evidence(
                "message",
                line.number,
                line.text[:_LONGEST],
                *((a, b) if case.shown else (None, None)),
            )
        )
    raised = unit.raised
    if raised is not None:
        frame = engine_frame(raised, case.origin.engine)
        if frame is not None:
            text = f'File "{canonical(frame.file)[1]}", line {frame.line}, in {frame.function}'
            found.append(Evidence("frame", frame.number, text))
        if raised.lead:
            found.append(Evidence("header", raised.first, raised.lead))
    return found
