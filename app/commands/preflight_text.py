"""A preflight's answer as text for a terminal."""

import textwrap
from collections.abc import Sequence
from typing import Final

from app.preflight.gpus import GPUS
from app.preflight.report import Finding, Report

_WORDS: Final = {"pass": "passes", "fail": "is refused", "cannot-tell": "cannot be told"}
_MARKS: Final = {"error": "refused", "warning": "warning", "info": "note"}
_WIDTH: Final = 100


def as_text(report: Report) -> str:
    """The answer, the most important first."""
    lines = [f"{report.release} on {GPUS.get(report.gpu, report.gpu)}: {_WORDS[report.verdict]}"]
    for finding in report.findings:
        lines += ["", *_finding(finding)]
    if report.corrected_command:
        lines += ["", "passes as:", "  " + report.corrected_command]
    if report.releases and not any(f.holds for f in report.findings):
        lines += ["", f"other releases: {report.releases.text}"]
    if _not_asked(report):
        lines += ["", "Releases that were not asked: there was no time. --since asks all."]
    if report.skipped:
        lines += ["", "not reached:"]
        lines += [f"  {s.check}\n    needs {s.missing}" for s in report.skipped]
    if report.asked:
        named = ", ".join(f"{a['placeholder']} ({a['flag'] or 'argument'})" for a in report.asked)
        lines += ["", f"to be filled in: {named}"]
    for model in report.models:
        if model["origin"] == "preset":
            lines += [
                "",
                f"{model['model']}: its config.json is not here, taken for {model['about']}.",
            ]
    lines += ["", *[f"note: {n}" for n in report.notes]] if report.notes else []
    return "\n".join(lines)


def _not_asked(report: Report) -> bool:
    return any(h and h.not_asked for h in (report.releases, *(f.holds for f in report.findings)))


def _finding(finding: Finding) -> list[str]:
    head = _MARKS[finding.level] + (f" {finding.flag}" if finding.flag else "")
    lines = [head, *_wrapped(finding.message)]
    if finding.level != "error":
        return lines
    if finding.site:
        site = finding.site
        lines.append(
            f"    {finding.error_class} at {site['file']}:{site['line']}, {site['function']}"
        )
    if finding.entry_id:
        lines.append(f"    entry {finding.slug or finding.entry_id}")
    if finding.holds and finding.holds.text:
        lines.append(f"    {finding.holds.text}")
    if finding.suggestion:
        lines += ["  fix", *_wrapped(finding.suggestion)]
    signs = {"keep": " ", "remove": "-", "add": "+"}
    lines += [f"    {signs[p['op']]} {p['text']}" for p in finding.difference if p["op"] != "keep"]
    return lines


def _wrapped(text: str) -> list[str]:
    return [
        "    " + line
        for paragraph in text.splitlines()
        for line in textwrap.wrap(paragraph, _WIDTH, break_long_words=False) or [""]
    ]


def table(reports: Sequence[Report]) -> str:
    """Which releases would take the line."""
    rows = []
    for report in reports:
        errors = [f for f in report.findings if f.level == "error"]
        why = errors[0].message.splitlines()[0] if errors else ""
        if report.verdict == "cannot-tell" and report.skipped:
            why = f"needs {report.skipped[0].missing}"
        rows.append((report.release, _WORDS[report.verdict], why[:_WIDTH]))
    width = max((len(r[0]) for r in rows), default=0)
    return "\n".join(f"{a:<{width}}  {b:<14}  {c}".rstrip() for a, b, c in rows)
