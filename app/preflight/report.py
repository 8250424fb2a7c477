"""The answer of a preflight, and its JSON; see CONTRACT of the project for the keys."""

from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["error", "warning", "info"]
Verdict = Literal["pass", "fail", "cannot-tell"]
EXIT_CODES: dict[Verdict, int] = {"pass": 0, "fail": 1, "cannot-tell": 3}


@dataclass(slots=True, kw_only=True)
class Holds:
    """In which releases the line meets this finding."""

    refused: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    """The line does not meet this finding there (it may meet another)."""
    other: list[str] = field(default_factory=list)
    """The line is refused there for another reason."""
    cannot_tell: list[str] = field(default_factory=list)
    """The check could not be run there, or something that it needs was not given."""
    not_asked: list[str] = field(default_factory=list)
    """There was no time for these."""
    evidence: str = "executed"
    """executed: the line was checked on each; read: the check's text was looked for."""
    text: str = ""


@dataclass(slots=True, kw_only=True)
class Finding:
    """One thing that the release's checks say."""

    level: Level
    message: str
    flag: str | None = None
    flags: list[str] = field(default_factory=list)
    error_class: str | None = None
    entry_id: str | None = None
    slug: str | None = None
    template: str | None = None
    site: dict[str, Any] | None = None
    condition: str | None = None
    suggestion: str | None = None
    suggested_command: str | None = None
    difference: list[dict[str, Any]] = field(default_factory=list)
    holds: Holds | None = None
    position: dict[str, int] | None = None
    evidence: str = "executed"


@dataclass(slots=True, kw_only=True)
class Skipped:
    """A check that was not reached, and what it needs."""

    check: str
    missing: str


@dataclass(slots=True, kw_only=True)
class Report:
    """What one release on one GPU says to one line."""

    release: str
    gpu: str
    program: str
    argv: list[str]
    env: dict[str, str]
    notes: list[str]
    verdict: Verdict
    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Placeholders that only the user can fill in: {"placeholder","flag"}."""
    models: list[dict[str, Any]] = field(default_factory=list)
    """What stood for each model: {"model","origin","about"}."""
    releases: Holds | None = None
    """What the other releases say to the line as it stands; None if none was to be asked."""
    corrected_command: str | None = None
    """The line with every correction, if it then passes."""
    substitutes: list[dict[str, Any]] = field(default_factory=list)
    isolation: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 cannot tell."""
        return EXIT_CODES[self.verdict]

    def as_json(self) -> dict[str, Any]:
        """The contract's keys, and more."""
        return {
            "release": self.release,
            "gpu": self.gpu,
            "command": {
                "program": self.program,
                "argv": self.argv,
                "env": self.env,
                "notes": self.notes,
            },
            "verdict": self.verdict,
            "findings": [_finding(f) for f in self.findings],
            "skipped": [{"check": s.check, "missing": s.missing} for s in self.skipped],
            "asked": self.asked,
            "models": self.models,
            "releases": _holds(self.releases),
            "correctedCommand": self.corrected_command,
            "substitutes": self.substitutes,
            "isolation": self.isolation,
            "seconds": round(self.seconds, 3),
        }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "level": finding.level,
        "flag": finding.flag,
        "flags": finding.flags,
        "message": finding.message,
        "errorClass": finding.error_class,
        "entryId": finding.entry_id,
        "slug": finding.slug,
        "template": finding.template,
        "site": finding.site,
        "condition": finding.condition,
        "suggestion": finding.suggestion,
        "suggestedCommand": finding.suggested_command,
        "difference": finding.difference,
        "holds": _holds(finding.holds),
        "position": finding.position,
        "evidence": finding.evidence,
    }


def _holds(holds: Holds | None) -> dict[str, Any] | None:
    if holds is None:
        return None
    return {
        "refused": holds.refused,
        "accepted": holds.accepted,
        "other": holds.other,
        "cannotTell": holds.cannot_tell,
        "notAsked": holds.not_asked,
        "evidence": holds.evidence,
        "text": holds.text,
    }
