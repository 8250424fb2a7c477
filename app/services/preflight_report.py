"""From what the checks said to the answer: findings with entry, place, correction and releases."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from app.preflight import flags
from app.preflight.command import Command
from app.preflight.difference import difference, rendered
from app.preflight.models import Models
from app.preflight.report import Finding, Holds, Report, Skipped, Verdict
from app.services.preflight_holds import by_asking, by_parsers, of_line
from app.services.preflight_running import Answer
from app.wheels import Wheel

if TYPE_CHECKING:
    from app.services.preflight_entries import Entries

_UNTOLD: Final = frozenset({"enable_dp_attention", "dp_size", "device"})
"""Attributes that releases fold into others while resolving: nothing was overruled."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """What was asked behind the wall."""

    question_line: str
    release: str
    version: str
    gpu: str
    command: Command
    program: str
    argv: list[str]
    env: dict[str, str]
    files: dict[str, str]
    notes: list[str]
    skipped: list[Skipped]
    models: Models
    others: list[str] = field(default_factory=list)


def report_of(asked: Asked, answer: Answer, wheel: Wheel) -> Report:
    """The answer to a question."""
    main = answer.main
    asked.program = str(main.get("program") or asked.program)
    findings = _errors(asked, answer, wheel)
    report = Report(
        release=asked.release,
        gpu=asked.gpu,
        program=asked.program,
        argv=asked.command.argv,
        env=asked.command.env,
        notes=list(asked.notes) + [str(n) for n in main.get("notes", ())],
        verdict="pass",
        findings=findings,
        skipped=_skipped(asked, main),
        asked=[{"placeholder": h.text, "flag": h.flag} for h in asked.command.holes],
        models=[
            {"model": m, "origin": c.origin, "about": c.about}
            for m, c in asked.models.configs.items()
        ],
        substitutes=list(main.get("substitutes", ())),
        isolation=answer.isolation,
    )
    report.verdict = _verdict(report, asked, main)
    if findings and main.get("state") in ("pass", "exits"):
        report.corrected_command = findings[-1].suggested_command
    report.releases = _releases(asked, answer, report)
    report.findings += _remarks(asked, main)
    return report


def _verdict(report: Report, asked: Asked, main: dict[str, Any]) -> Verdict:
    if any(f.level == "error" for f in report.findings):
        return "fail"
    disagree = any(p["state"] == "refused" for p in main.get("panel", ()))
    holes = bool(main.get("holesMatter"))
    unread = any("--config" in s.check for s in asked.skipped)
    if main.get("state") == "unreachable" or disagree or holes or unread:
        return "cannot-tell"
    return "pass"


def _errors(asked: Asked, answer: Answer, wheel: Wheel) -> list[Finding]:
    raws = list(answer.main.get("findings", ()))
    if not raws:
        return []
    # A line that passes needs no scanner.
    from app.services.preflight_entries import entries_of  # noqa: PLC0415  # see above

    entries = entries_of(wheel)
    argv, env = list(asked.argv), dict(asked.command.env)
    found = []
    for i, raw in enumerate(raws):
        finding = _error(asked, raw, entries)
        change = raw.get("change")
        if change:
            new_argv = list(change["argv"])
            new_env = {**asked.command.env, **_added(asked, change["env"])}
            finding.suggestion = _sentence(change["text"], raw, asked)
            finding.suggested_command = rendered(asked.command, new_argv, new_env)
            finding.difference = difference(argv, env, new_argv, new_env)
            argv, env = new_argv, new_env
        else:
            finding.suggestion = _sentence("", raw, asked) or None
        finding.holds = _holds(asked, answer, finding, i)
        found.append(finding)
    return found


def _added(asked: Asked, env: dict[str, str]) -> dict[str, str]:
    return {k: v for k, v in env.items() if asked.env.get(k) != v}


def _error(asked: Asked, raw: dict[str, Any], entries: "Entries") -> Finding:
    site = raw.get("site")
    entry = entries.of(raw["errorClass"], raw["message"], site)
    names = [str(f) for f in raw.get("flags", ())]
    message = raw["message"] or (f"assert {raw['asserted']}" if raw.get("asserted") else "")
    flag = names[0] if names else None
    return Finding(
        level="error",
        message=message,
        flag=flag,
        flags=names,
        error_class=raw["errorClass"],
        entry_id=entry.id if entry else None,
        slug=entry.slug if entry else None,
        template=entry.template if entry else None,
        site={**site, "release": asked.release} if site else None,
        condition=raw.get("condition") or None,
        position=_position(asked, flag),
    )


def _sentence(text: str, raw: dict[str, Any], asked: Asked) -> str:
    """The change as a sentence, with what is known of an unknown flag."""
    parts = [text[:1].upper() + text[1:] + "."] if text else []
    for flag in flags.unrecognized(raw["message"])[:1]:
        parts += [
            p
            for p in (
                flags.came_or_went(flag, asked.program, asked.version),
                flags.elsewhere(flag, asked.program),
                flags.advice(flag),
            )
            if p
        ]
    return " ".join(parts)


def _holds(asked: Asked, answer: Answer, finding: Finding, index: int) -> Holds | None:
    if finding.flag is not None:
        known = by_parsers(finding.message, finding.flag, asked.program)
        if known is not None:
            return known
    if not asked.others:
        return None
    return by_asking(asked.version, _said(answer, index), asked.others)


def _said(answer: Answer, index: int) -> dict[str, str]:
    return {v: s[index] for v, s in answer.said.items() if index < len(s)}


def _releases(asked: Asked, answer: Answer, report: Report) -> Holds | None:
    """Which releases take the line, if others were to be asked."""
    if not asked.others:
        return None
    passes = not report.findings
    return of_line(asked.version, _said(answer, 0), asked.others, passes=passes)


def _position(asked: Asked, flag: str | None) -> dict[str, int] | None:
    """Where a flag stands in the pasted text, lines and columns from 1."""
    command = asked.command
    for i, word in enumerate(command.argv):
        if flag and (word == flag or word.startswith(flag + "=")) and i < len(command.spans):
            start, end = command.spans[i]
            return position(asked.question_line, start, end)
    return None


def position(text: str, start: int, end: int) -> dict[str, int]:
    """Lines and columns (from 1) of a stretch of a text."""
    before, upto = text[:start], text[:end]
    return {
        "startLine": before.count("\n") + 1,
        "startColumn": start - (before.rfind("\n") + 1) + 1,
        "endLine": upto.count("\n") + 1,
        "endColumn": end - (upto.rfind("\n") + 1) + 1,
        "offset": start,
        "length": end - start,
    }


def _skipped(asked: Asked, main: dict[str, Any]) -> list[Skipped]:
    found = list(asked.skipped)
    found += [
        Skipped(check=dropped["flag"], missing=f"a value for {dropped['text']}")
        for dropped in main.get("dropped", ())
    ]
    panel = main.get("panel", ())
    for model in asked.models.unknown:
        tried = ", ".join(p["about"] for p in panel if p["state"] == "pass")
        check = f"checks that depend on {model}"
        if tried:
            check += f" (passed with the configurations of {tried})"
        found.append(Skipped(check=check, missing="its config.json"))
    for member in panel:
        if member["state"] == "refused":
            text = f"refused if the model is like {member['about']}: {member['message']}"
            found.append(Skipped(check=text, missing="its config.json"))
    later = main.get("later", ())
    if later:
        said = ", ".join(f"`{a['text']}`" for a in later)
        where = f"`{later[0]['function']}`, {later[0]['file']}:{later[0]['line']}"
        missing = "the model, which is built after these checks"
        found.append(Skipped(check=f"{said} ({where})", missing=missing))
    if main.get("state") == "unreachable" and not panel:
        site = main.get("site") or {}
        where = f" in `{site['function']}`" if site.get("function") else ""
        check = f"everything from the check{where} on"
        found.append(Skipped(check=check, missing=str(main.get("missing") or "")))
    return found


def _remarks(asked: Asked, main: dict[str, Any]) -> list[Finding]:
    """What the release warns about, and what it overrules."""
    found = [
        Finding(
            level="warning",
            message=str(w["message"]),
            site={**w["site"], "release": asked.release},
        )
        for w in main.get("warnings", ())
    ]
    for change in main.get("changed", ()):
        if change["dest"] in _UNTOLD:
            continue
        flag = "--" + change["dest"].replace("_", "-")
        text = f"{flag} is given as {change['given']}; the release takes {change['resolved']}."
        found.append(Finding(level="info", message=text, flag=flag))
    if main.get("state") == "exits" and not main.get("findings"):
        found.append(Finding(level="info", message="The line prints its help and ends."))
    return found
