"""The entry page as facts: the record, and what a reader sees first, worked out from it."""

from packaging.version import InvalidVersion, Version

from app.models import Public
from app.runs.subjects import REFERENCE
from app.services.entry_code import Snippet, Solution, example_of, snippets_of, solutions_of
from app.services.evidence import executed_on, subject_order
from app.services.records import EntryRecord, HistoryStep, RunRecord

TO = "\N{EN DASH}"
_SHOWN_LINES = 4
_NAMED = 3
_RESULTS = {
    "returned": "does not raise",
    "wrong-result": "wrong result",
    "timeout": "timed out",
    "died": "died",
    "skipped": "skipped",
}


class Cell(Public):
    """One run in the matrix, or the lack of one."""

    label: str
    kind: str
    """trigger | fix | other | none."""
    run_id: str | None = None
    reason: str | None = None


class MatrixRow(Public):
    """One step on one device over all subjects."""

    name: str
    cells: list[Cell]


class Matrix(Public):
    """Evidence by subject and step."""

    subjects: list[str]
    heads: list[str]
    """The subjects, shortened where the one before says the rest: `0.5.16`, `.17`."""
    rows: list[MatrixRow]


class HistoryRow(Public):
    """Neighbouring releases in which nothing but the line changed."""

    first: str
    last: str
    status: str
    place: str
    lines: str
    function: str


class EntryPage(Public):
    """What the page of one entry shows."""

    record: EntryRecord
    span: str
    """Releases that have it: `0.5.16` to `0.5.23`."""
    still_there: bool | None
    """In the newest scanned release; None if nothing is scanned."""
    gone_in: str | None
    verified: list[str]
    """Subjects that the error was executed on; see `app.services.evidence.executed_on`."""
    verified_span: str
    matrix: Matrix
    trigger: RunRecord | None
    """The newest release's trigger run."""
    fix: RunRecord | None
    differing: list[str]
    """Names of the values that trigger and fix recorded differently: what the fix changed."""
    solutions: list[Solution]
    example: list[Snippet]
    """Broken and fixed, if there are such."""
    snippets: list[Snippet]
    changes: list[HistoryRow]
    devices: list[str]


def entry_page(record: EntryRecord) -> EntryPage:
    """Work out what the page shows."""
    there = [step.version for step in record.history if step.status != "gone"]
    last = record.history[-1] if record.history else None
    verified = _verified(record.evidence)
    trigger, fix = _shown_pair(record.evidence)
    return EntryPage(
        record=record,
        span=version_span(there),
        still_there=last.status != "gone" if last else None,
        gone_in=last.version if last and last.status == "gone" else None,
        verified=verified,
        verified_span=version_list([name.partition("==")[2] or name for name in verified]),
        differing=differing(trigger, fix),
        solutions=solutions_of(record),
        matrix=_matrix(record),
        trigger=trigger,
        fix=fix,
        example=example_of(record),
        snippets=snippets_of(record),
        changes=_changes(record.history),
        devices=sorted({run.device for run in record.evidence}),
    )


def version_span(versions: list[str]) -> str:
    """First and last for several versions in order, the version for one, nothing for none."""
    if not versions:
        return ""
    return versions[0] if len(versions) == 1 else f"{versions[0]} {TO} {versions[-1]}"


def version_list(versions: list[str]) -> str:
    """Every version by name, or the newest and how many more; the reference is told apart.

    A dash from first to last would claim those between, on which perhaps nothing was run.
    """
    releases = [v for v in versions if v != REFERENCE]
    named = len(releases) <= _NAMED
    shown = releases if named else [f"{releases[-1]} and {len(releases) - 1} more"]
    return ", ".join([*shown, *(["the reference"] if REFERENCE in versions else [])])


def differing(trigger: RunRecord | None, fix: RunRecord | None) -> list[str]:
    """Names of the values that two runs both recorded, and recorded differently."""
    if trigger is None or fix is None:
        return []
    return [n for n, v in trigger.values.items() if n in fix.values and fix.values[n] != v]


def _verified(evidence: list[RunRecord]) -> list[str]:
    return list(dict.fromkeys(subject for subject, _ in executed_on(evidence)))


def _shown_pair(evidence: list[RunRecord]) -> tuple[RunRecord | None, RunRecord | None]:
    """Trigger and fix of the newest place that the error was executed on, else of the newest."""
    places = executed_on(evidence) or [(run.subject, run.device) for run in evidence]
    if not places:
        return None, None
    place = max(places, key=lambda p: ("==" in p[0], subject_order(p[0]), p[1] == "cpu"))
    runs = {run.step: run for run in evidence if (run.subject, run.device) == place}
    return runs.get("trigger"), runs.get("fix")


def cell_of(run: RunRecord) -> Cell:
    """How the matrix shows one run."""
    unfounded = [str(c.get("id")) for c in run.claims if c.get("ok") is not True]
    if run.passed and unfounded:
        reason = f"the page's code did not do what it is for: {', '.join(unfounded)}"
        return Cell(label="claim fails", kind="other", run_id=run.id, reason=reason)
    if run.passed:
        label = "passes" if run.step == "fix" else "raises"
        if run.outcome == "wrong-result":
            label = "wrong result"
        return Cell(label=label, kind=run.step, run_id=run.id)
    if run.outcome == "raised":
        label = "still raises" if run.step == "fix" else "other error"
    elif run.step == "fix" and run.outcome == "returned":
        label = "not proven"
    else:
        label = _RESULTS.get(run.outcome or "", run.outcome or "?")
    return Cell(label=label, kind="other", run_id=run.id, reason=run.reason or run.message)


def _matrix(record: EntryRecord) -> Matrix:
    have = {f"{record.package}=={s.version}" for s in record.history if s.status != "gone"}
    subjects = sorted(have | {run.subject for run in record.evidence}, key=subject_order)
    devices = sorted({run.device for run in record.evidence})
    found = {(run.subject, run.device, run.step): run for run in record.evidence}
    rows = []
    for device in devices:
        for step in ("trigger", "fix"):
            cells = []
            for subject in subjects:
                run = found.get((subject, device, step))
                cells.append(cell_of(run) if run else Cell(label="not run", kind="none"))
            name = step if len(devices) == 1 else f"{step}, {device}"
            rows.append(MatrixRow(name=name, cells=cells))
    return Matrix(subjects=subjects, heads=short_heads(subjects), rows=rows)


def short_heads(subjects: list[str]) -> list[str]:
    """Versions of one series lose what the one before already says."""
    heads: list[str] = []
    series = ""
    for subject in subjects:
        version = subject.partition("==")[2]
        if not version:
            heads.append(subject)
            continue
        front, _, end = version.rpartition(".")
        heads.append(f".{end}" if front and front == series else version)
        series = front
    return heads


def _changes(history: list[HistoryStep]) -> list[HistoryRow]:
    """Releases in a row with the same place become one row."""
    rows: list[HistoryRow] = []
    lines: list[list[int]] = []
    for step in history:
        same = (
            rows
            and step.status == "same"
            and rows[-1].place == (step.file or "")
            and rows[-1].function == (step.function or "")
        )
        if same:
            rows[-1].last = step.version
            lines[-1].append(step.line or 0)
        else:
            rows.append(
                HistoryRow(
                    first=step.version, last=step.version, status=step.status,
                    place=step.file or "", function=step.function or "", lines="",
                )
            )  # fmt: skip
            lines.append([step.line or 0])
    for row, numbers in zip(rows, lines, strict=True):
        distinct = list(dict.fromkeys(n for n in numbers if n))
        row.lines = (
            ", ".join(map(str, distinct))
            if len(distinct) <= _SHOWN_LINES
            else f"{distinct[0]}, {distinct[1]} … {distinct[-1]}"
        )
    return rows


def newest_first(versions: list[str]) -> list[str]:
    """Versions, newest first; what is no version comes last."""

    def key(text: str) -> Version:
        try:
            return Version(text)
        except InvalidVersion:
            return Version("0")

    return sorted(versions, key=key, reverse=True)
