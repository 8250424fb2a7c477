"""From cleaned lines to the answer.

Lines are sorted to their printers, read as tracebacks and records, matched against the index, put
in order of cause and effect, and written down with secrets masked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.diagnosis import engines
from app.diagnosis.case import Case
from app.diagnosis.causes import Draft, announce, assign, group
from app.diagnosis.drafting import drafts_of
from app.diagnosis.exits import read_exits
from app.diagnosis.facts import Facts, read_command, read_lines
from app.diagnosis.findings import brief, finding_of
from app.diagnosis.lines import Line
from app.diagnosis.masking import mask_all
from app.diagnosis.matcher import Matcher
from app.diagnosis.raised import Raised
from app.diagnosis.result import Diagnosis
from app.diagnosis.shapes import take_off_learned
from app.diagnosis.streams import Stream, split
from app.diagnosis.suspicion import suspicious
from app.diagnosis.tracebacks import Parser, parse
from app.diagnosis.verdicts import conclude, exit_findings

_MOST_WHOLE: Final = 100
"""Findings that are explained in full; of a log with more the others are told in brief."""


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
    drafts, warned = drafts_of(reading.parsers, matcher, origin)
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
