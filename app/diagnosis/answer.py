"""From cleaned lines to the answer.

Lines are sorted to their printers, read as tracebacks and records, matched against the index, put
in order of cause and effect, and written down with secrets masked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.diagnosis import engines
from app.diagnosis.case import Case
from app.diagnosis.causes import Draft, announce, assign, group, with_echo, within_chain
from app.diagnosis.exits import read_exits
from app.diagnosis.facts import Facts, read_command, read_lines
from app.diagnosis.findings import brief, finding_of
from app.diagnosis.lines import Line
from app.diagnosis.masking import mask_all
from app.diagnosis.matcher import Matcher
from app.diagnosis.patterns import lazy
from app.diagnosis.raised import Raised
from app.diagnosis.result import Diagnosis, Warned
from app.diagnosis.shapes import take_off_learned
from app.diagnosis.streams import Stream, split
from app.diagnosis.suspicion import suspicious
from app.diagnosis.tracebacks import Parser, parse
from app.diagnosis.units import Unit, of_answer, units
from app.diagnosis.verdicts import conclude, exit_findings

_ERROR_LEVELS: Final = frozenset({"ERROR", "CRITICAL", "FATAL"})
_MOST_WHOLE: Final = 100
"""Findings that are explained in full; of a log with more the others are told in brief."""
_PASSED_OVER: Final = ("Ignore ", "Ignoring ")
"""How a program begins that names an error it goes on without."""
_REFUSED: Final = ('{"detail":', '{"error":')
"""How the whole body of an HTTP answer begins that is nothing but an error."""
_DUMPED: Final = lazy(r"HTTP/1\.[01]\" [23]\d\d|Receive: obj=|Finish: obj=")


@dataclass(slots=True)
class Reading:
    """A log as far as it was read, before causes are looked for."""

    lines: list[Line]
    streams: list[Stream] = field(default_factory=list)
    parsers: list[Parser] = field(default_factory=list)

    @property
    def raised(self) -> list[Raised]:
        """Every exception."""
        return [r for parser in self.parsers for chain in parser.chains for r in chain]


def of_lines(
    lines: list[Line],
    *,
    matcher: Matcher,
    command: str | None = None,
    release: str | None = None,
    total: int,
    text: str | None = None,
    more: Mapping[int, Sequence[int]] | None = None,
) -> Diagnosis:
    """Diagnose cleaned lines.

    Args:
        lines: of the whole log, or of the places worth reading.
        matcher: the index.
        command: the launch line.
        release: if known.
        total: lines of the whole log.
        text: the whole log, if it is small enough to be shown.
        more: of a large log, literal → [hits that were counted, not read; line of the last].
    """
    take_off_learned(lines)
    reading = Reading(lines, split(lines))
    reading.parsers = [parse(stream) for stream in reading.streams]
    facts = Facts()
    if command:
        read_command(facts, command)
    read_lines(facts, lines)
    raised = reading.raised
    engine = engines.engine_of(raised, lines, facts.command)
    origin = engines.origin(matcher.index, matcher.places, engine, raised, lines, given=release)
    drafts, warned = _drafts(reading, matcher, origin)
    exits = read_exits(lines)
    if not drafts and not any(e.signal for e in exits):
        drafts = suspicious(reading.parsers)
    groups = group(_whole(announce(drafts)))
    case = Case(
        matcher=matcher,
        origin=origin,
        facts=facts,
        lines=lines,
        shown=text is not None,
    )
    cause = assign(groups)
    findings = [
        finding_of(g, case) if i < _MOST_WHOLE or g is cause else brief(g, case)
        for i, g in enumerate(groups)
    ]
    diagnosis = Diagnosis(
        verdict="clean",
        root_cause=groups.index(cause) if cause else None,
        findings=findings,
        release=findings[0].release if findings else _named(origin),
        engine=origin.engine,
        release_reason=origin.reason,
        lines=total,
        ranks=sorted({s.rank for s in reading.streams if s.rank}),
        warnings=warned,
        facts=_shown_facts(facts),
    )
    if more:
        _count(diagnosis, matcher, more)
    exit_findings(diagnosis, groups, exits, case)
    conclude(diagnosis, groups, reading.raised, facts)
    return mask_all(diagnosis, text if text is not None else "\n".join(x.text for x in lines))


def _whole(drafts: list[Draft]) -> list[Draft]:
    """Without tracebacks whose end is cut off, unless there is nothing else."""
    whole = [d for d in drafts if d.unit.raised is None or d.unit.raised.error_class]
    return whole if any(d.echo is None for d in whole) else drafts


def _named(origin: engines.Origin) -> str | None:
    return f"{origin.engine}=={origin.version}" if origin.engine and origin.version else None


def _drafts(
    reading: Reading, matcher: Matcher, origin: engines.Origin
) -> tuple[list[Draft], list[Warned]]:
    drafts: list[Draft] = []
    warned: dict[str, Warned] = {}
    for parser in reading.parsers:
        hits = matcher.lines_hit(parser.stream)
        by_raised: dict[int, Draft] = {}
        for unit in units(parser, set(hits)):
            match = matcher.best(unit, hits, origin)
            draft = with_echo(unit, match)
            if match is None and unit.raised is not None:
                _answered(draft, matcher, hits, origin)
            if unit.raised is not None:
                by_raised[id(unit.raised)] = draft
                drafts.append(draft)
            elif _keep(draft, warned) and not (drafts and _goes_on(drafts[-1], draft)):
                drafts.append(draft)
        for chain in parser.chains:
            members = [by_raised[id(r)] for r in chain]
            if len(members) > 1:
                for member in members:
                    member.chain = members
                within_chain(members)
    return drafts, list(warned.values())


def _goes_on(before: Draft, draft: Draft) -> bool:
    """Whether a line is only a further line of the message before it."""
    same = before.match and draft.match and before.match.record is draft.match.record
    said = before.unit.kind == draft.unit.kind == "said" and before.unit.stream is draft.unit.stream
    return bool(same and said) and any(x is draft.unit.lines[0] for x in before.unit.lines[1:])


def _answered(
    draft: Draft, matcher: Matcher, hits: dict[int, set[int]], origin: engines.Origin
) -> None:
    """A client's exception that quotes the server's answer is the server's error."""
    for answer in of_answer(draft.unit):
        match = matcher.best(answer, hits, origin)
        if match is not None:
            draft.match, draft.announced = match, answer
            draft.unit.http_code = answer.http_code
            return


def _keep(draft: Draft, warned: dict[str, Warned]) -> bool:
    """Whether a record is an error; warnings of the catalog are counted apart."""
    match, unit = draft.match, draft.unit
    if unit.kind == "http" and match is not None:
        return True
    logged = match is not None and match.record.level
    if unit.kind == "said" and not logged and unit.text.lstrip().startswith(_PASSED_OVER):
        return False
    if match is None:
        said = unit.error_class is not None or (unit.kind == "http" and bool(unit.http_code))
        said = said or (draft.echo is not None and draft.echo.kind != "shutdown")
        said = said or (unit.kind == "http" and unit.lines[0].text.lstrip().startswith(_REFUSED))
        return said and not unit.dump and _is_error(unit)
    record = match.record
    if (
        record.level
        and record.level.upper() not in _ERROR_LEVELS | {"EXCEPTION"}
        and not record.slug
    ):
        known = warned.get(record.entry_id)
        if known is None:
            warned[record.entry_id] = Warned(record.template, record.entry_id, 1, unit.first)
        else:
            known.count += 1
        return False
    return True


def _is_error(unit: Unit) -> bool:
    """Whether a line that names a class and that no entry explains is an error at all."""
    line = unit.lines[0]
    if unit.kind == "http":
        return unit.http_code is None or unit.http_code >= 400  # noqa: PLR2004  # HTTP's errors begin there
    return not _DUMPED().search(line.text) and (line.level or "ERROR") in _ERROR_LEVELS


def _shown_facts(facts: Facts) -> dict[str, Any]:
    wanted = (
        "model_path", "tp_size", "dp_size", "pp_size", "ep_size", "attention_backend", "page_size",
        "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk",
        "speculative_num_draft_tokens", "mem_fraction_static", "context_length",
        "max_running_requests", "chunked_prefill_size", "max_total_num_tokens", "quantization",
    )  # fmt: skip
    return {name: facts.values[name] for name in wanted if name in facts.values}


def _count(diagnosis: Diagnosis, matcher: Matcher, more: Mapping[int, Sequence[int]]) -> None:
    """Add what a large log repeats to the findings and warnings it belongs to."""
    findings = {f.entry_id: f for f in diagnosis.findings if f.entry_id}
    warnings = {w.entry_id: w for w in diagnosis.warnings}
    for literal, (count, last) in more.items():
        for number in matcher.index.posting(literal):
            entry = matcher.index.record(number).entry_id
            if entry in findings:
                findings[entry].count += count
                findings[entry].last_line = max(findings[entry].last_line, last)
                break
            if entry in warnings:
                warnings[entry].count += count
                break
