"""A group of drafts → a finding: every claim with the lines it rests on."""

from dataclasses import replace
from typing import Any, Final

from app.diagnosis import alike
from app.diagnosis.advice import exclusions, fixes_for, phase_hint
from app.diagnosis.case import Case
from app.diagnosis.causes import Draft, Group
from app.diagnosis.engines import engine_frame
from app.diagnosis.evidence import evidence_of
from app.diagnosis.fit import value, weight
from app.diagnosis.index import TemplateRecord
from app.diagnosis.judging import bare
from app.diagnosis.matches import Match
from app.diagnosis.phases import phase_of
from app.diagnosis.places import ENGINES, canonical, leaf
from app.diagnosis.remarks import on_arguments, on_late_fault, on_sizes, params_of
from app.diagnosis.result import CatalogSite, Finding, Occurrence, ShownFrame
from app.diagnosis.sites import Seen, gone, site_of

_MOST_OCCURRENCES: Final = 100
_LONGEST: Final = 2_000


def brief(group: Group, case: Case) -> Finding:
    """What was said, where and how often: for the many findings of a log beyond the first.

    Args:
        group: drafts of the same error.
        case: what all findings share.
    """
    draft = group.first
    match = draft.match
    record = match.record if match else None
    explained = _explained(match, case)
    lines = [d.unit for d in group.drafts]
    return Finding(
        entry_id=explained.entry_id if explained else None,
        slug=explained.slug or None if explained else None,
        error_class=draft.error_class,
        message=draft.message[:_LONGEST],
        template=record.template if record else None,
        params=dict(match.values) if match else {},
        package=_package(draft, case),
        frame=_frame(draft, case) if draft.unit.raised else None,
        site=_site(draft, case, history=False),
        rank=draft.unit.rank,
        process=draft.unit.stream.source or None,
        first_line=min(u.first for u in lines),
        last_line=max(u.last for u in lines),
        count=len(lines),
        role=group.role or "warning",
        confidence=_confidence(draft, group),
        release=_release(case),
        title=explained.title if explained else "",
        ranks=_ranks(group),
        occurrences=_occurrences(group),
    )


def finding_of(group: Group, case: Case) -> Finding:
    """Write a group down."""
    draft = group.first
    unit, match = draft.unit, draft.match
    record = match.record if match else None
    explained = _explained(match, case)
    frame = _frame(draft, case)
    phase = phase_of(unit, case.facts, (d.unit.message[:_LONGEST] for d in draft.chain))
    params = params_of(draft, case)
    hints: list[str] = phase_hint(phase, draft.message)
    fixes = fixes_for(explained, draft.message, case.facts, phase, case.origin.engine)
    on_arguments(draft, case, params, fixes, hints)
    on_sizes(draft, case, params, hints)
    on_late_fault(draft, frame, params, hints)
    if draft.echo and draft.echo.faulty:
        hints.append(f"It names {draft.echo.faulty} as the one to look at.")
    site = _site(draft, case)
    if site and record:
        hints += _history(site, record)
    return replace(
        brief(group, case),
        params=params,
        frame=frame,
        site=site,
        evidence=evidence_of(group, case),
        meaning=_meaning(explained),
        fixes=fixes,
        hints=[h for h in ([group.note.capitalize() + "."] if group.note else []) + hints if h],
        not_this_if=exclusions(explained, case.origin.engine),
        family=explained.family or None if explained else None,
        severity=explained.severity or None if explained else None,
        raised_at=_raised_at(draft, frame),
    )


def _package(draft: Draft, case: Case) -> str | None:
    if draft.match:
        return draft.match.record.package
    raised = draft.unit.raised
    if raised and raised.frames:
        package, _ = canonical(raised.frames[-1].file)
        if package in ("python", ""):
            frame = engine_frame(raised, case.origin.engine)
            return canonical(frame.file)[0] if frame else package or None
        return package
    return case.origin.engine


def _release(case: Case) -> str | None:
    origin = case.origin
    return f"{origin.engine}=={origin.version}" if origin.version and origin.engine else None


def _frame(draft: Draft, case: Case) -> ShownFrame | None:
    """The innermost frame of the engine that the log shows, of this exception or of its chain."""
    raised = draft.unit.raised
    if raised is None:
        return None
    frame = engine_frame(raised, case.origin.engine)
    if frame is None:
        for other in draft.chain:
            if other is not draft and other.unit.raised:
                frame = frame or engine_frame(other.unit.raised, case.origin.engine)
    if frame is None:
        return None
    _, path = canonical(frame.file)
    qualified = None
    places = case.matcher.places
    around = places.around(path, frame.line, frame.function)
    if case.origin.number is not None:
        qualified = around.get(case.origin.number)
    if qualified is None:
        names = set(around.values()) or places.named(path, frame.function)
        qualified = names.pop() if len(names) == 1 else None
    return ShownFrame(path, leaf(frame.function) or frame.function, frame.line, qualified)


def _raised_at(draft: Draft, frame: ShownFrame | None) -> ShownFrame | None:
    """Where a library raised it."""
    raised = draft.unit.raised
    if raised is None or not raised.frames:
        return None
    last = raised.frames[-1]
    package, path = canonical(last.file)
    if package == "" or (frame and frame.file == path and frame.line == last.line):
        return None
    return ShownFrame(path, leaf(last.function) or last.function, last.line)


def _site(draft: Draft, case: Case, *, history: bool = True) -> CatalogSite | None:
    match = draft.match
    if match is None or match.record.package not in ENGINES or not match.record.sites:
        return None
    raised = draft.unit.raised
    frame = raised.frames[-1] if raised and raised.frames else None
    seen = Seen(canonical(frame.file)[1], leaf(frame.function), frame.line) if frame else Seen()
    index, record = case.matcher.index, match.record
    later = (
        alike.later(case.matcher, draft.unit, record) if history and gone(index, record) else None
    )
    return site_of(index, record, case.origin.number, seen, later)


def _history(site: CatalogSite, record: TemplateRecord) -> list[str]:
    if site.status == "gone" and not any(part.strip() for part in record.parts):
        return []
    if site.status == "gone":
        return [f"The message is gone after {site.last_release}."]
    today = site.today
    if today is None or site.status == "same":
        return []
    where = f"`{today['file']}`, `{today['function']}`"
    if site.status == "reworded":
        return [f"In {today['release']} it is worded anew and stands in {where}."]
    return [f"In {today['release']} it stands in {where}."]


def _ranks(group: Group) -> list[str]:
    return list(dict.fromkeys(d.unit.rank for d in group.drafts if d.unit.rank))


def _occurrences(group: Group) -> list[Occurrence]:
    return [
        Occurrence(d.unit.first, d.unit.rank, dict(d.match.values) if d.match else {})
        for d in group.drafts[1 : 1 + _MOST_OCCURRENCES]
    ]


def _explained(match: Match | None, case: Case) -> TemplateRecord | None:
    """The entry that a wording belongs to: what later releases say instead, if they do."""
    record = match.record if match else None
    if match and match.explainer:
        return match.explainer
    if record is None or not record.becomes:
        return record
    after = case.matcher.index.by_id(record.becomes)
    if after is None or (not after.slug and weight(record.parts) == 0):
        return record  # a bare assert is known by its own condition
    return after


def _meaning(record: TemplateRecord | None) -> str:
    if record is None:
        return ""
    if record.meaning:
        return record.meaning
    if record.condition and record.kind in ("raise", "assert", "http", "argparse"):
        verb = (
            "It is raised when this does not hold"
            if record.kind == "assert"
            else "It is raised under this condition"
        )
        return f"{verb}: `{record.condition}`."
    return ""


def _confidence(draft: Draft, group: Group) -> float:
    match = draft.match
    if match is None:
        return 0.2 if draft.unit.raised else 0.1
    sure = 0.6
    sure += 0.2 if match.placed else 0.0
    sure += 0.1 if match.whole and match.opens else -0.15
    same = bare(draft.unit.error_class or "") == bare(match.record.error_class)
    sure += 0.08 if same else 0.0
    if group.role == "root-cause" and draft.echo:
        sure -= 0.2
    return round(max(0.05, min(0.98, sure)), 2)


def exit_params(code: int | None, name: str) -> dict[str, Any]:
    """What an exit report adds to the finding it belongs to."""
    return {"exit_code": value(str(code)), "signal": name}
