"""Reports as SARIF 2.1.0, for code scanning in CI.

Only what concerns the file is in it: errors with their place and their correction, warnings as
notes. Columns and lines count from 1, as SARIF wants.
"""

from collections.abc import Sequence
from typing import Any, Final

from app.preflight.report import Finding, Report

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}


def as_sarif(reports: Sequence[tuple[Report, str]], version: str) -> dict[str, Any]:
    """One run of the tool over one or more launch lines.

    Args:
        reports: each report with the path of the file its line is in; empty for a bare line.
        version: of this program.
    """
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for report, file in reports:
        for finding in report.findings:
            rule = finding.slug or finding.entry_id or f"preflight/{finding.level}"
            rules.setdefault(rule, _rule(rule, finding))
            results.append(_result(report, finding, rule, file))
        results += [_skipped(report, s.check, s.missing, file) for s in report.skipped]
    if any(report.skipped for report, _ in reports):
        rules["preflight/not-reached"] = {
            "id": "preflight/not-reached",
            "shortDescription": {"text": "A check that was not reached"},
        }
    driver = {"name": "reprobase preflight", "version": version, "rules": list(rules.values())}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
        ],
    }


def _rule(rule: str, finding: Finding) -> dict[str, Any]:
    text = finding.template or "What the release says at launch"
    return {"id": rule, "shortDescription": {"text": text[:1000]}}


def _result(report: Report, finding: Finding, rule: str, file: str) -> dict[str, Any]:
    text = f"{report.release}, {report.gpu}: {finding.message}"
    if finding.suggestion:
        text += f" {finding.suggestion}"
    if finding.holds and finding.holds.text:
        text += f" ({finding.holds.text})"
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": _LEVELS[finding.level],
        "message": {"text": text},
        "properties": {"suggestedCommand": finding.suggested_command, "site": finding.site},
    }
    if file:
        result["locations"] = [_location(file, finding.position)]
    return result


def _skipped(report: Report, check: str, missing: str, file: str) -> dict[str, Any]:
    text = f"{report.release}, {report.gpu}: not reached: {check}. Needed: {missing}."
    result: dict[str, Any] = {
        "ruleId": "preflight/not-reached",
        "level": "note",
        "kind": "open",
        "message": {"text": text},
    }
    if file:
        result["locations"] = [_location(file, None)]
    return result


def _location(file: str, position: dict[str, int] | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": file.replace("\\", "/")}}
    if position is not None:
        place["region"] = {
            "startLine": position["startLine"],
            "startColumn": position["startColumn"],
            "endLine": position["endLine"],
            "endColumn": position["endColumn"],
            "charOffset": position["offset"],
            "charLength": position["length"],
        }
    return {"physicalLocation": place}
