"""What many logs say together: which causes there are, and in which logs each stands.

A log whose only finding waits for somebody else (a barrier that timed out, a peer that went away)
is put behind those that have a cause of their own: across the nodes of one server these are the
same failure. Which node failed first is not told: their clocks are not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.diagnosis.echoes import echo
from app.diagnosis.many import Answer
from app.diagnosis.result import Diagnosis, Finding, Verdict

_WORST: tuple[Verdict, ...] = ("known", "unknown", "incomplete", "clean")
CauseRole = Literal["root-cause", "echo"]


@dataclass(slots=True)
class Cause:
    """The same root cause in one or several logs."""

    finding: Finding
    """As the first log has it."""
    role: CauseRole = "root-cause"
    logs: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The contract's shape."""
        one = self.finding
        return {
            "role": self.role,
            "entryId": one.entry_id,
            "slug": one.slug,
            "errorClass": one.error_class,
            "message": one.message,
            "template": one.template,
            "title": one.title,
            "logs": self.logs,
        }


@dataclass(slots=True)
class Together:
    """The answers to many logs."""

    answers: Mapping[str, Answer]
    """Log → what it says, or why it cannot be read; in the order of the logs."""
    causes: list[Cause]

    @property
    def verdict(self) -> Verdict:
        """The most telling verdict of all; a log that cannot be read leaves it incomplete."""
        found = {
            a.verdict if isinstance(a, Diagnosis) else "incomplete" for a in self.answers.values()
        }
        return next((v for v in _WORST if v in found), "incomplete")

    @property
    def summary(self) -> str:
        """One sentence."""
        counted: dict[str, int] = dict.fromkeys(("unreadable", *_WORST), 0)
        for answer in self.answers.values():
            counted[answer.verdict if isinstance(answer, Diagnosis) else "unreadable"] += 1
        words = {
            "known": "with a known cause",
            "unknown": "with an error that has no entry",
            "incomplete": "that cannot be judged",
            "clean": "clean",
            "unreadable": "that cannot be read",
        }
        parts = [f"{counted[key]:,} {said}" for key, said in words.items() if counted[key]]
        total = len(self.answers)
        return f"{total:,} log{'' if total == 1 else 's'}: {', '.join(parts) or 'nothing to read'}."

    def to_json(self) -> dict[str, Any]:
        """The contract's JSON document."""
        logs = [
            {"log": name, "diagnosis": answer.to_json()}
            if isinstance(answer, Diagnosis)
            else {"log": name, "problem": answer}
            for name, answer in self.answers.items()
        ]
        causes = [cause.to_json() for cause in self.causes]
        return {"verdict": self.verdict, "summary": self.summary, "causes": causes, "logs": logs}


def together(answers: Mapping[str, Answer]) -> Together:
    """Put the answers to many logs together; causes that stand in most logs come first."""
    causes: dict[tuple[str, ...], Cause] = {}
    for name, answer in answers.items():
        if isinstance(answer, Diagnosis) and answer.root_cause is not None:
            finding = answer.findings[answer.root_cause]
            cause = causes.setdefault(_key(finding), Cause(finding))
            cause.logs.append(name)
    found = list(causes.values())
    if any(echo(c.finding.error_class, c.finding.message) is None for c in found):
        for cause in found:
            if echo(cause.finding.error_class, cause.finding.message) is not None:
                cause.role = "echo"
    found.sort(key=lambda c: (c.role == "echo", -len(c.logs)))
    return Together(answers, found)


def _key(finding: Finding) -> tuple[str, ...]:
    if finding.entry_id:
        return (finding.entry_id,)
    return (str(finding.error_class), finding.template or finding.message)
