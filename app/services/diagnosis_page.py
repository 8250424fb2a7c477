"""The page of a diagnosis as facts: the answer, the order of events by process, the masked log."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from app.diagnosis.redact import redact
from app.diagnosis.result import Diagnosis, Finding
from app.services.diagnosis import answer
from app.settings import Settings

MOST_SHOWN: Final = 4_000_000
"""Characters of a log that a page shows again; of a larger one only the findings."""
AROUND: Final = 2
"""Lines shown before and after what matters."""
MOST_LINES: Final = 600
_SHORT: Final = 60
"""Lines of a log that is shown whole."""
_KEY_BLOCK: Final = re.compile(
    r"-----BEGIN [A-Z ]{1,40}PRIVATE KEY-----.{0,8000}?"
    r"(?:-----END [A-Z ]{1,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_MASK: Final = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
_KEY: Final = _MASK + "private key\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
_KINDS: Final = {
    "root-cause": "hit", "consequence": "echo", "echo": "echo", "warning": "warning",
}  # fmt: skip


@dataclass(slots=True)
class LogPart:
    """Lines of the log: shown, or folded away."""

    first: int
    last: int
    lines: list["LogLine"] = field(default_factory=list)
    """Empty for a part that is folded."""


@dataclass(slots=True)
class LogLine:
    """One masked line of the log."""

    number: int
    kind: str
    """hit | echo | warning | plain."""
    before: str
    marked: str
    after: str


@dataclass(slots=True)
class Event:
    """One finding in the order of events of its process."""

    index: int
    lane: int
    x: int
    """Where it begins, 0 to 1000 over the log's span."""
    label: str
    role: str


@dataclass(slots=True)
class DiagnosisPage:
    """What the page of a diagnosis shows."""

    answer: Diagnosis
    first: Finding | None
    """The root cause, or what was found first."""
    others: list[Finding]
    lanes: list[str]
    events: list[Event]
    parts: list[LogPart]
    command: str
    document: dict[str, Any]


def diagnosis_page(
    log: str, settings: Settings, *, command: str = "", release: str = ""
) -> DiagnosisPage:
    """Diagnose a log and lay out its page.

    Raises:
        CannotTellError: the log is empty.
        BadInputError: the release is none.
    """
    found = answer(log, settings, command=command, release=release)
    cause = found.root_cause
    first = found.findings[cause] if cause is not None else next(iter(found.findings), None)
    lanes = _lanes(found)
    return DiagnosisPage(
        answer=found,
        first=first,
        others=[f for f in found.findings if f is not first],
        lanes=lanes,
        events=_events(found, lanes),
        parts=_parts(log, found) if len(log) <= MOST_SHOWN else [],
        command=redact(command)[0],
        document=found.to_json(),
    )


def _lanes(found: Diagnosis) -> list[str]:
    """The processes that something happened in, in the order of what happened first."""
    ordered = sorted(found.findings, key=lambda f: (f.role != "root-cause", f.first_line))
    return list(dict.fromkeys(rank for f in ordered for rank in _ranks(f)))


def _ranks(finding: Finding) -> list[str]:
    return finding.ranks or [finding.rank or finding.process or ""]


def _events(found: Diagnosis, lanes: list[str]) -> list[Event]:
    last = max((f.last_line for f in found.findings), default=1)
    first = min((f.first_line for f in found.findings), default=0)
    span = max(1, last - first)
    events = []
    for index, finding in enumerate(found.findings):
        at = dict.fromkeys(_ranks(finding)[:1], finding.first_line)
        for other in finding.occurrences:
            at.setdefault(other.rank or "", other.line)
        for rank in _ranks(finding):
            line = at.get(rank, finding.first_line)
            label = finding.error_class or finding.title or finding.message
            events.append(
                Event(
                    index,
                    lanes.index(rank),
                    round(1000 * (line - first) / span),
                    label,
                    finding.role,
                )
            )
    return events


def _parts(log: str, found: Diagnosis) -> list[LogPart]:
    lines = masked_lines(log)
    kinds = _kinds(found, len(lines))
    shown = {
        n
        for number in kinds
        for n in range(max(1, number - AROUND), min(len(lines), number + AROUND) + 1)
    }
    if len(lines) <= _SHORT:
        shown = set(range(1, len(lines) + 1))
    spans = _spans(found, log)
    parts: list[LogPart] = []
    given = 0
    for number, text in enumerate(lines, 1):
        visible = number in shown and given < MOST_LINES
        if not parts or bool(parts[-1].lines) != visible:
            parts.append(LogPart(number, number))
        parts[-1].last = number
        if visible:
            given += 1
            parts[-1].lines.append(_line(number, text, kinds.get(number, "plain"), spans))
    return parts


def masked_lines(log: str) -> list[str]:
    """The lines of a log with secrets masked, as many as there were."""
    log = _KEY_BLOCK.sub(lambda m: re.sub(r"[^\n]+", _KEY, m[0]), log)
    whole = redact(log)[0].split("\n")
    lines = log.split("\n")
    if len(whole) == len(lines):
        return whole
    return [redact(line)[0] for line in lines]


def _kinds(found: Diagnosis, count: int) -> dict[int, str]:
    """By line number: what it is part of; a root cause outshines an echo."""
    kinds: dict[int, str] = {}
    for finding in sorted(found.findings, key=lambda f: f.role == "root-cause"):
        kind = _KINDS[finding.role]
        if found.root_cause is None and finding.role != "warning":
            kind = "hit"
        marks = [
            e.line for e in finding.evidence if e.kind in {"message", "frame", "header", "exit"}
        ]
        for number in [*marks, *(o.line for o in finding.occurrences[:20])]:
            if 1 <= number <= count:
                kinds[number] = kind
    return kinds


def _spans(found: Diagnosis, log: str) -> dict[int, tuple[int, int]]:
    """By line number: characters of the line that were recognised."""
    starts = [0]
    for line in log.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    spans: dict[int, tuple[int, int]] = {}
    for finding in found.findings:
        for piece in finding.evidence:
            if piece.kind == "message" and piece.start is not None and piece.end is not None:
                if not 1 <= piece.line < len(starts):
                    continue
                base, end = starts[piece.line - 1], starts[piece.line] - 1
                if base <= piece.start < end:
                    spans[piece.line] = (piece.start - base, min(piece.end, end) - base)
    return spans


def _line(number: int, text: str, kind: str, spans: dict[int, tuple[int, int]]) -> LogLine:
    text = text.rstrip("\r")
    start, end = spans.get(number, (0, 0))
    if _MASK in text or end > len(text):
        start = end = 0  # masking moved the characters; the whole line is marked instead
    return LogLine(number, kind, text[:start], text[start:end], text[end:])
