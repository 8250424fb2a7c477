"""A diagnosis as text for a terminal: the cause first, then what to do, then everything else."""

import textwrap

from app.diagnosis.result import Diagnosis, Finding

_WIDTH = 96
_BOLD, _DIM, _RED, _END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[0m"
_ROLES = {
    "root-cause": "Root cause",
    "consequence": "Followed from it",
    "echo": "Echo",
    "warning": "Beside it",
}


def text(diagnosis: Diagnosis, *, colour: bool = False) -> str:
    """The whole answer."""
    bold, dim, red, end = (_BOLD, _DIM, _RED, _END) if colour else ("", "", "", "")
    out = [f"{bold}{diagnosis.summary}{end}"]
    out.append(f"{dim}{_about(diagnosis)}{end}")
    root = diagnosis.findings[diagnosis.root_cause] if diagnosis.root_cause is not None else None
    if root is not None:
        out += ["", f"{red}{_head(root)}{end}", *_body(root)]
    others = [f for f in diagnosis.findings if f is not root]
    if others:
        out += ["", f"{bold}Also in the log{end}"]
        for finding in others:
            out += _other(finding)
    if diagnosis.missing:
        out += ["", f"{bold}To be surer{end}"]
        out += [_item(m) for m in diagnosis.missing]
    if diagnosis.warnings:
        out += ["", f"{dim}Warnings: " + _warnings(diagnosis) + end]
    return "\n".join(out)


def _about(diagnosis: Diagnosis) -> str:
    parts = ["1 line" if diagnosis.lines == 1 else f"{diagnosis.lines:,} lines"]
    if diagnosis.ranks:
        parts.append(f"{len(diagnosis.ranks)} rank{'s' if len(diagnosis.ranks) > 1 else ''}")
    if diagnosis.release:
        seems = "" if diagnosis.release_reason.startswith("given") else "looks like "
        parts.append(f"{seems}{diagnosis.release.replace('==', ' ')} ({diagnosis.release_reason})")
    elif diagnosis.engine:
        parts.append(
            f"{diagnosis.engine}"
            + (f", {diagnosis.release_reason}" if diagnosis.release_reason else "")
        )
    if diagnosis.redacted:
        parts.append(f"{diagnosis.redacted} secret{'s' if diagnosis.redacted > 1 else ''} masked")
    return " · ".join(parts)


def _head(finding: Finding) -> str:
    who = f"{finding.rank}, " if finding.rank else ""
    where = (
        f"line {finding.first_line}"
        if finding.count == 1
        else f"lines {finding.first_line} to {finding.last_line}, {finding.count} times"
    )
    return f"{_ROLES[finding.role]} ({who}{where}): {_said(finding)}"


def _said(finding: Finding) -> str:
    message = finding.message.strip().split("\n", 1)[0]
    name = finding.error_class or ""
    if not name and not message and finding.frame:
        where = f"{finding.frame.function} ({finding.frame.file}:{finding.frame.line})"
        return f"a traceback whose end is cut off; the last frame that is shown is {where}"
    return f"{name}: {message}" if name and message else name or message


def _body(finding: Finding) -> list[str]:
    out = []
    if finding.meaning:
        out += [_wrap(finding.meaning)]
    if finding.frame:
        out.append(
            f"  in {finding.frame.qualified_function or finding.frame.function} ·"
            f" {finding.frame.file}:{finding.frame.line}"
        )
    if finding.site and finding.site.today:
        today = finding.site.today
        out.append(
            f"  catalog: {finding.site.file}, {finding.site.function} ({finding.site.release});"
            f" today {today['file']}, {today['function']}"
        )
    elif finding.site and finding.site.last_release:
        out.append(
            f"  catalog: {finding.site.file}, {finding.site.function} ({finding.site.release});"
            f" gone after {finding.site.last_release}"
        )
    if finding.params:
        shown = ", ".join(f"{k} = {_short(v)}" for k, v in finding.params.items())
        out.append(_wrap(f"values: {shown}"))
    out += [_wrap(h) for h in finding.hints]
    if finding.fixes:
        out += ["", "What to do"]
        out += [_item(f, n) for n, f in enumerate(finding.fixes, 1)]
    if finding.not_this_if:
        out += ["", "Not this if"]
        out += [_item(f) for f in finding.not_this_if]
    if finding.entry_id:
        out += ["", f"  reprobase show {finding.slug or finding.entry_id}"]
    return out


def _other(finding: Finding) -> list[str]:
    out = [_item(_head(finding))]
    out += [textwrap.indent(_wrap(h), "  ") for h in finding.hints[:2]]
    return out


def _warnings(diagnosis: Diagnosis) -> str:
    shown = sorted(diagnosis.warnings, key=lambda w: -w.count)[:3]
    return "; ".join(f"{_short(w.template, 60)} ({w.count} times)" for w in shown)


def _short(value: object, limit: int = 80) -> str:
    text_ = str(value).replace("\n", " ")
    return text_ if len(text_) <= limit else text_[: limit - 1] + "…"


def _wrap(text_: str) -> str:
    return textwrap.fill(
        text_.replace("**", ""), _WIDTH, initial_indent="  ", subsequent_indent="  "
    )


def _item(text_: str, number: int | None = None) -> str:
    mark = f"{number}." if number else "-"
    plain = text_.replace("**", "")
    first, *rest = plain.split("\n")
    out = textwrap.fill(first, _WIDTH, initial_indent=f"  {mark} ", subsequent_indent="     ")
    return "\n".join([out, *(f"     {line}" for line in rest)])
