"""A group of drafts → a finding: every claim with the lines it rests on."""

import re
from dataclasses import dataclass
from typing import Any, Final

from app.diagnosis import arguments, sizes
from app.diagnosis.advice import fixes_for, phase_hint
from app.diagnosis.causes import Draft, Group
from app.diagnosis.echoes import asynchronous
from app.diagnosis.engines import Origin, engine_frame
from app.diagnosis.facts import Facts
from app.diagnosis.fit import value
from app.diagnosis.index import TemplateRecord
from app.diagnosis.matcher import Match, Matcher, bare
from app.diagnosis.phases import phase_of
from app.diagnosis.places import ENGINES, canonical, leaf
from app.diagnosis.result import CatalogSite, Evidence, Finding, Occurrence, ShownFrame
from app.diagnosis.sites import site_of
from app.diagnosis.values import derived, facts_in

_MOST_OCCURRENCES: Final = 100
_MOST_EVIDENCE: Final = 12
_LONGEST: Final = 2_000


@dataclass(slots=True)
class Case:
    """What all findings of one log share."""

    matcher: Matcher
    origin: Origin
    facts: Facts
    usage: list[str]
    shown: bool
    """The log is small enough to be shown: evidence carries offsets."""


def finding_of(group: Group, case: Case) -> Finding:
    """Write a group down."""
    draft = group.first
    unit, match = draft.unit, draft.match
    record = match.record if match else None
    explained = _explained(record, case)
    frame = _frame(draft, case)
    phase = phase_of(unit, case.facts)
    params = _params(draft, case)
    hints: list[str] = phase_hint(phase, draft.message)
    fixes = fixes_for(
        explained, draft.message, case.facts, phase, case.origin.engine
    )
    _argparse(draft, case, params, fixes, hints)
    _sizes(draft, case, params, hints)
    _asynchronous(draft, frame, params, hints)
    if draft.echo and draft.echo.faulty:
        hints.append(f"It names {draft.echo.faulty} as the one to look at.")
    site = _site(draft, case)
    if site and record:
        hints += _history(site, record)
    lines = [d.unit for d in group.drafts]
    return Finding(
        entry_id=explained.entry_id if explained else None,
        slug=explained.slug or None if explained else None,
        error_class=draft.error_class,
        message=draft.message[:_LONGEST],
        template=record.template if record else None,
        params=params,
        package=_package(draft, case),
        frame=frame,
        site=site,
        rank=unit.rank,
        process=unit.stream.source or None,
        first_line=min(u.first for u in lines),
        last_line=max(u.last for u in lines),
        count=len(group.drafts),
        role=group.role or "warning",
        evidence=_evidence(group, case),
        confidence=_confidence(draft, group),
        release=_release(case),
        meaning=_meaning(explained),
        fixes=fixes,
        hints=[h for h in ([group.note.capitalize() + "."] if group.note else []) + hints if h],
        title=explained.title if explained else "",
        ranks=_ranks(group),
        occurrences=_occurrences(group),
        not_this_if=list(explained.not_this_if) if explained else [],
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
    if case.origin.index is not None:
        qualified = around.get(case.origin.index)
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


def _site(draft: Draft, case: Case) -> CatalogSite | None:
    match = draft.match
    if match is None or match.record.package not in ENGINES or not match.record.sites:
        return None
    raised = draft.unit.raised
    frame = raised.frames[-1] if raised and raised.frames else None
    file = canonical(frame.file)[1] if frame else None
    return site_of(
        case.matcher.index,
        match.record,
        case.origin.index,
        file,
        leaf(frame.function) if frame else None,
    )


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


def _params(draft: Draft, case: Case) -> dict[str, Any]:
    params: dict[str, Any] = dict(draft.match.values) if draft.match else {}
    for name, found in facts_in(draft.unit.message).items():
        params.setdefault(name, found)
    if draft.unit.http_code:
        params["http_code"] = draft.unit.http_code
    for name, found in derived(draft, case.facts, case.matcher.optional).items():
        params.setdefault(name, found)
    return params


def _argparse(
    draft: Draft, case: Case, params: dict[str, Any], fixes: list[str], hints: list[str]
) -> None:
    message = draft.unit.text
    if ": error: " not in message or not (
        "unrecognized argument" in message or "invalid choice" in message
    ):
        return
    engine = case.origin.engine
    flags = case.matcher.index.meta["flags"] if engine in (None, "sglang") else {}
    if case.origin.index is not None:
        flags = {f: r for f, r in flags.items() if case.origin.index in r}
    if engine == "vllm":
        flags = {}
    advice = arguments.read(message, flags, case.usage)
    params |= advice.params
    fixes[:0] = advice.fixes
    hints += advice.hints


def _sizes(draft: Draft, case: Case, params: dict[str, Any], hints: list[str]) -> None:
    pair = _pair(params, draft.match)
    if pair is None:
        return
    reading = sizes.read(*pair, case.facts, line=draft.unit.first, rank=draft.unit.rank)
    hints += reading.hints
    for name, found in reading.params.items():
        params.setdefault(name, found)


def _differing(a: str, b: str) -> tuple[int | None, int | None]:
    """Of two shapes such as `96, 128` and `90, 128` the sizes that differ, if it is one."""
    one, other = ([int(n) for n in re.findall(r"\d+", text)] for text in (a, b))
    pairs = [(x, y) for x, y in zip(one, other, strict=False) if x != y]
    return pairs[0] if len(one) == len(other) and len(pairs) == 1 else (None, None)


_PAIRS: Final = (
    ("value", "target"), ("first", "other"), ("tensor", "target"),
    ("a", "b"), ("expected", "got"), ("existing", "expanded"),
)  # fmt: skip
_MISMATCH: Final = ("must match", "mismatch", "but got", "!=", "does not match", "should be equal")


def _pair(params: dict[str, Any], match: Match | None) -> tuple[int, int] | None:
    for one, other in _PAIRS:
        a, b = params.get(one), params.get(other)
        if isinstance(a, str) and isinstance(b, str):
            a, b = _differing(a, b)
        if isinstance(a, int) and isinstance(b, int) and not isinstance(a, bool):
            return a, b
    if match is None or not match.record.parts:
        return None
    words = " ".join(match.record.parts).lower()
    numbers = [v for v in match.values.values() if isinstance(v, int) and not isinstance(v, bool)]
    if len(numbers) == 2 and any(w in words for w in _MISMATCH):  # noqa: PLR2004 - two sizes
        return numbers[0], numbers[1]
    return None


def _asynchronous(
    draft: Draft, frame: ShownFrame | None, params: dict[str, Any], hints: list[str]
) -> None:
    if not asynchronous(draft.unit.text):
        return
    params["async"] = True
    where = f"`{frame.function}` (`{frame.file}`) is" if frame else "The last call in the log is"
    hints.insert(
        0,
        f"{where} where the fault surfaced, not where it was made: the device reports it at some"
        f" later"
        " call that waits for it. To find the culprit run once with `CUDA_LAUNCH_BLOCKING=1` (and"
        " `--disable-cuda-graph`), or with `CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1` for a core dump,"
        " or"
        " under `compute-sanitizer`.",
    )


def _ranks(group: Group) -> list[str]:
    return list(dict.fromkeys(d.unit.rank for d in group.drafts if d.unit.rank))


def _occurrences(group: Group) -> list[Occurrence]:
    return [
        Occurrence(d.unit.first, d.unit.rank, dict(d.match.values) if d.match else {})
        for d in group.drafts[1 : 1 + _MOST_OCCURRENCES]
    ]


def _explained(record: TemplateRecord | None, case: Case) -> TemplateRecord | None:
    """The entry that a wording belongs to: what later releases say instead, if they do."""
    if record is None or not record.becomes:
        return record
    return case.matcher.index.by_id(record.becomes) or record


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


def _evidence(group: Group, case: Case) -> list[Evidence]:
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


def exit_params(code: int | None, name: str) -> dict[str, Any]:
    """What an exit report adds to the finding it belongs to."""
    return {"exit_code": value(str(code)), "signal": name}
