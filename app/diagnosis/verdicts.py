"""Known, unknown, clean or cannot tell; and what is missing for a better answer."""

from collections.abc import Sequence
from typing import Final

from app.diagnosis.case import Case
from app.diagnosis.causes import Group
from app.diagnosis.exits import ENTRIES, Exit
from app.diagnosis.facts import Facts
from app.diagnosis.findings import exit_params
from app.diagnosis.patterns import lazy
from app.diagnosis.places import ENGINES, canonical
from app.diagnosis.raised import Raised
from app.diagnosis.result import Diagnosis, Evidence, Finding

_EXPLAINS_ITSELF: Final = frozenset({4, 6, 7, 8, 9, 11})
"""Signals that may end a process before it reports anything: then the signal is the finding."""
_CRASHES: Final = frozenset({"SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE"})
"""Signals that a process raises by itself, in compiled code."""
FAULT_DUMP: Final = (
    "The frames of the crash: with `PYTHONFAULTHANDLER=1` Python prints its own before the process"
    " ends, and `gdb -batch -ex bt python core` the native ones of the core file."
)
COMMAND: Final = "The launch command: it says which sizes and backends were asked for."
FIRST_TRACEBACK: Final = (
    "The first traceback: this part of the log only reports that another process had failed. Look"
    " upwards for the first `Traceback` or error, of whichever rank."
)
CHECK_ENV: Final = (
    "The output of `python3 -m sglang.check_env`: versions of torch, CUDA and the driver."
)
_RANK: Final = lazy(r"rank (\d+(?:, \d+)*)")


def exit_findings(
    diagnosis: Diagnosis, groups: list[Group], exits: Sequence[Exit], case: Case
) -> None:
    """Take exit codes and signals into account.

    They explain a parent's report of a dead child; without any other finding they are one.
    """
    if not exits:
        return
    telling = _telling(exits)
    parents = [
        (i, f)
        for i, (f, g) in enumerate(zip(diagnosis.findings, groups, strict=True))
        if g.first.echo and g.first.echo.kind in ("parent", "peer") and "exit_code" not in f.params
    ]
    parents.sort(key=lambda p: "died" not in p[1].message and "dead" not in p[1].message)
    if parents:
        i, finding = parents[0]
        alone = diagnosis.root_cause is None
        _add(finding, telling, case, alone=alone and not _clean_up(finding, telling))
        if alone and telling.signal in _EXPLAINS_ITSELF and not _clean_up(finding, telling):
            finding.role = "root-cause"
            finding.confidence = 0.7
            finding.fixes = _fixes(telling, case) or finding.fixes
            _explain(finding, telling, case)
            finding.hints = [h for h in finding.hints if "own error stands elsewhere" not in h]
            diagnosis.root_cause = i
    elif all(f.role == "warning" for f in diagnosis.findings) and telling.signal:
        diagnosis.findings.append(_own(telling, exits, case))
        diagnosis.root_cause = len(diagnosis.findings) - 1


def _telling(exits: Sequence[Exit]) -> Exit:
    """The report that says most: a signal with its code before one without."""
    best = next((e for e in exits if e.signal and e.said), None)
    best = best or next((e for e in exits if e.signal), exits[0])
    if any(e.by_kernel and e.signal == best.signal for e in exits):
        best = best._replace(by_kernel=True)
    return best


def _clean_up(finding: Finding, told: Exit) -> bool:
    """Whether the end is the server's own: it kills its children when one asks it to stop."""
    return "sigquit" in finding.message.lower() and not told.by_kernel and not told.said


def _add(finding: Finding, told: Exit, case: Case, *, alone: bool) -> None:
    finding.params |= exit_params(told.code, told.name)
    finding.hints.append(_sentence(told) if alone or told.by_kernel else _after(told))
    offsets = told.line.span(told.start, told.end) if case.shown else (None, None)
    finding.evidence.append(Evidence("exit", told.line.number, told.line.text[:500], *offsets))


def _sentence(told: Exit) -> str:
    if told.by_kernel:
        return "The kernel or the container runtime ended it because memory of the host ran out."
    if told.signal == 9:  # noqa: PLR2004  # that is SIGKILL
        return (
            f"Exit code {told.code}: SIGKILL, sent from outside. Mostly the kernel's or the"
            f" container's"
            " out-of-memory killer (host memory, not the GPU's): `dmesg -T | grep -i kill` or"
            " `kubectl describe pod` says so."
        )
    if told.signal:
        return f"Exit code {told.code}: {told.name}."
    return f"Exit code {told.code}: the process ended by itself, its own output says why."


def _after(told: Exit) -> str:
    """An end that an error before it accounts for."""
    return (
        f"The process then ended with {told.name} (code {told.code}), in the clean-up after the"
        " error."
    )


def _fixes(told: Exit, case: Case) -> list[str]:
    record = case.matcher.by_slug(ENTRIES.get(told.signal or 0, ""))
    return list(record.fixes) if record else []


def _explain(finding: Finding, told: Exit, case: Case) -> None:
    """A supervisor's report without an explanation is explained by the signal that it reports."""
    record = case.matcher.by_slug(ENTRIES.get(told.signal or 0, ""))
    if finding.slug is not None or record is None:
        return
    finding.entry_id, finding.slug = record.entry_id, record.slug
    finding.title, finding.meaning = record.title, record.meaning
    finding.severity, finding.not_this_if = record.severity, list(record.not_this_if)


def _own(told: Exit, exits: Sequence[Exit], case: Case) -> Finding:
    record = case.matcher.by_slug(ENTRIES.get(told.signal or 0, ""))
    same = [e for e in exits if e.signal == told.signal]
    finding = Finding(
        entry_id=record.entry_id if record else None,
        slug=record.slug if record else None,
        error_class=told.name,
        message=told.line.text.strip()[:500],
        template=record.template if record else None,
        params={},
        package=record.package if record else None,
        frame=None,
        site=None,
        rank=told.line.rank,
        process=told.line.source or None,
        first_line=same[0].line.number,
        last_line=same[-1].line.number,
        count=len(same),
        role="root-cause",
        confidence=0.6 if told.by_kernel else 0.5,
        meaning=record.meaning if record else "",
        fixes=list(record.fixes) if record else [],
        title=record.title if record else "",
        severity=record.severity if record else None,
        not_this_if=list(record.not_this_if) if record else [],
    )
    _add(finding, told, case, alone=True)
    return finding


def conclude(
    diagnosis: Diagnosis, groups: Sequence[Group], raised: Sequence[Raised], facts: Facts
) -> None:
    """Set verdict, what is missing, and the summary."""
    findings = diagnosis.findings
    root = findings[diagnosis.root_cause] if diagnosis.root_cause is not None else None
    cut = [r for r in raised if r.cut_end and r.error_class is None]
    if root is not None and root.error_class is None and cut and root.entry_id is None:
        diagnosis.verdict = "incomplete"
        diagnosis.root_cause = None
        root.role = "consequence"
        root = None
        diagnosis.missing.append(
            "The end of the traceback: the line with the error's class and message was cut off."
        )
    elif root is not None:
        diagnosis.verdict = "known" if root.entry_id else "unknown"
    elif any(f.role == "echo" for f in findings):
        diagnosis.verdict = "incomplete"
        diagnosis.missing += _who(groups)
    elif not diagnosis.lines:
        diagnosis.verdict = "incomplete"
        diagnosis.missing.append("The log: nothing was given.")
    else:
        diagnosis.verdict = "clean"
    _wanted(diagnosis, root, raised, facts)
    diagnosis.summary = _summary(diagnosis, root)


def _who(groups: Sequence[Group]) -> list[str]:
    """The rank that the healthy ones name, else the first traceback."""
    ranks: dict[str, None] = {}
    for group in groups:
        for draft in group.drafts:
            if draft.echo and draft.echo.faulty and draft.echo.kind == "healthy-rank":
                m = _RANK().match(draft.echo.faulty)
                if m:
                    ranks[m[1]] = None
    if ranks:
        return [
            (
                f"The log of rank {', '.join(ranks)}: the other ranks waited for it, so the reason"
                f" stands there."
            )
        ]
    return [FIRST_TRACEBACK]


def _wanted(
    diagnosis: Diagnosis, root: Finding | None, raised: Sequence[Raised], facts: Facts
) -> None:
    if diagnosis.verdict == "clean" or root is None:
        return
    if diagnosis.verdict == "unknown":
        if not facts.command and not facts.told:
            diagnosis.missing.append(COMMAND)
        diagnosis.missing.append(CHECK_ENV)
    elif not (facts.command or facts.given or facts.told) and _about_sizes(root):
        diagnosis.missing.append(COMMAND)
    if root.params.get("async"):
        diagnosis.missing.append(
            "A log of the same run with `CUDA_LAUNCH_BLOCKING=1`, which shows the call at fault."
        )
    if root.params.get("signal") in _CRASHES and not raised:
        diagnosis.missing.append(FAULT_DUMP)
    if root.frame is None and raised and any(r.cut_start for r in raised):
        diagnosis.missing.append("The start of the traceback: its first frames were cut off.")


def _about_sizes(root: Finding) -> bool:
    return "size of tensor" in root.message or "Sizes of tensors" in root.message


def _summary(diagnosis: Diagnosis, root: Finding | None) -> str:
    if diagnosis.verdict == "clean":
        return "No error was found in these lines."
    if root is None and not diagnosis.lines:
        return "There is nothing to diagnose: the log is empty."
    if root is None:
        if diagnosis.engine == "vllm":
            return "This is vLLM's log, and the reason is not in this part of it."
        return "The reason is not in this part of the log."
    who = f"{root.rank}: " if root.rank else ""
    said = ": ".join(x for x in (root.error_class, _first(root.message)) if x)
    if not root.message and isinstance(condition := root.params.get("condition"), str):
        said = f"{root.error_class}: `{_first(condition)}` does not hold"
    what = root.title or said or "an error without a class and a message"
    more = "" if root.entry_id else " No entry of the catalog explains it."
    engine = " This is vLLM's log." if diagnosis.engine == "vllm" else ""
    return f"{who}{what}{'' if what.endswith(('.', '!', '?')) else '.'}{more}{engine}"


def _first(message: str) -> str:
    line = message.split("\n", 1)[0]
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004  # a line of a page


def engines_in(raised: Sequence[Raised]) -> set[str]:
    """Engines whose frames a log shows."""
    return {p for r in raised for f in r.frames if (p := canonical(f.file)[0]) in ENGINES}
