"""What an entry page tells a reader to do or to write, each with the run that tried it, or none."""

from typing import Any, Final

from app.models import Public
from app.services.evidence import subject_order
from app.services.records import EntryRecord, RunRecord

SOLUTIONS: Final = "Solutions"
"""Section of the claims that executed a solution as it is written.

Their `input` is its title, or `<title>: <case>` where several cases were tried.
"""


class SnippetClaim(Public):
    """One input that a curated snippet was run on."""

    input: Any = None
    expected: Any = None
    got: Any = None
    ok: bool


class Snippet(Public):
    """A piece of defensive code and what running it showed."""

    heading: str
    about: str
    code: str
    claims: list[SnippetClaim]
    subject: str | None = None
    run_id: str | None = None


class Solution(Public):
    """One way out, and the newest run that went it."""

    text: str
    """Markdown, title first."""
    ok: bool | None = None
    """Whether it held; None if no run tried it."""
    subject: str | None = None
    run_id: str | None = None
    claims: list[SnippetClaim] = []  # noqa: RUF012  # a pydantic field
    """What was tried, `input` being the case alone."""


def snippets_of(record: EntryRecord) -> list[Snippet]:
    """The defensive code of an entry."""
    wanted = (
        ("Validation code", "Check before you call", record.validation_code),
        ("Type guard", "Ask whether it fits", record.type_guard),
        ("Try and except", "Catch this one and nothing else", record.try_catch_pattern),
    )
    return [_snippet(record, heading, about, code) for heading, about, code in wanted if code]


def example_of(record: EntryRecord) -> list[Snippet]:
    """The broken and the fixed code."""
    example = record.example_fix
    if example is None:
        return []
    return [
        _snippet(record, "Example fix (broken)", "Broken", example.broken),
        _snippet(record, "Example fix (fixed)", "Fixed", example.fixed),
    ]


def solutions_of(record: EntryRecord) -> list[Solution]:
    """The ways out, best first."""
    return [solution_of(text, record.evidence) for text in record.solutions]


def solution_of(text: str, evidence: list[RunRecord]) -> Solution:
    """One way out, title first, with what the newest run of it showed."""
    title = text.removeprefix("**").partition("**")[0].strip(".: ")
    for run in _newest_first(evidence):
        tried = [
            SnippetClaim.model_validate({**claim, "input": case, "ok": claim.get("ok") is True})
            for claim in run.claims
            if claim.get("section") == SOLUTIONS
            and (case := _case(str(claim.get("input", "")), title)) is not None
        ]
        if tried:
            return Solution(
                text=text,
                ok=all(claim.ok for claim in tried),
                subject=run.subject,
                run_id=run.id,
                claims=tried,
            )
    return Solution(text=text)


def _case(given: str, title: str) -> str | None:
    """What of a solution was tried: empty if it has one case, None if it is another solution."""
    if given.strip(".: ") == title:
        return ""
    return given.removeprefix(f"{title}: ") if given.startswith(f"{title}: ") else None


def _snippet(record: EntryRecord, heading: str, about: str, code: str) -> Snippet:
    """A piece of code with what the newest run of it showed."""
    newest = _newest_first(record.evidence)
    run = next((r for r in newest if any(c.get("section") == heading for c in r.claims)), None)
    claims = [c for c in run.claims if c.get("section") == heading] if run else []
    return Snippet(
        heading=heading,
        about=about,
        code=code,
        claims=[SnippetClaim.model_validate({**c, "ok": bool(c.get("ok"))}) for c in claims],
        subject=run.subject if run else None,
        run_id=run.id if run else None,
    )


def _newest_first(evidence: list[RunRecord]) -> list[RunRecord]:
    return sorted(evidence, key=lambda run: subject_order(run.subject), reverse=True)
