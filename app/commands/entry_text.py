"""One entry for a terminal: what a reader needs first, first; 100 columns at most."""

import shutil
import textwrap
from typing import TYPE_CHECKING

from app.knowledge.markdown import plain_text
from app.web.render import SEVERITIES, message_text, shown_value

if TYPE_CHECKING:
    from app.services.entry_page import EntryPage

_WIDEST = 100
_BOLD, _RED, _GREEN, _DIM, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


class _Paper:
    """Collects wrapped lines; colours only where they are wanted."""

    def __init__(self, *, color: bool) -> None:
        self._color = color
        self._width = min(_WIDEST, max(40, shutil.get_terminal_size((_WIDEST, 24)).columns))
        self.lines: list[str] = []

    def paint(self, code: str, text: str) -> str:
        return f"{code}{text}{_PLAIN}" if self._color else text

    def heading(self, text: str) -> None:
        self.lines += ["", self.paint(_BOLD, text)]

    def wrapped(
        self, text: str, first: str = "", rest: str | None = None, *, color: str = ""
    ) -> None:
        rest = " " * len(first) if rest is None else rest
        lines = textwrap.wrap(
            text,
            self._width,
            initial_indent=first,
            subsequent_indent=rest,
            break_on_hyphens=False,
            break_long_words=False,
        )
        self.lines += [self.paint(color, line) if color else line for line in lines or [first]]

    def markdown(self, text: str, first: str = "", rest: str | None = None) -> None:
        """Prose is wrapped, code is kept as it is."""
        indent = " " * len(first) if rest is None else rest
        block: list[str] = []
        code = False
        for line in [*text.splitlines(), ""]:
            if line.lstrip().startswith("```"):
                self._paragraph(block, first, indent)
                first, block, code = indent, [], not code
            elif code:
                self.lines.append(f"{indent}    {line}".rstrip())
            elif line.strip():
                block.append(line)
            else:
                self._paragraph(block, first, indent)
                first, block = (indent, []) if block else (first, block)

    def _paragraph(self, block: list[str], first: str, rest: str) -> None:
        if block:
            self.wrapped(plain_text("\n".join(block)), first, rest)

    def text(self) -> str:
        return "\n".join(self.lines).strip("\n") + "\n"


def entry_text(page: "EntryPage", *, color: bool = False) -> str:
    """The page of an entry as plain text."""
    record = page.record
    paper = _Paper(color=color)
    words = message_text(record.error_message) or record.condition
    paper.wrapped(f"{paper.paint(_RED, record.error_class)}: {words}")
    paper.wrapped(" · ".join(_badges(page)), color=_DIM)
    if record.meaning:
        paper.lines.append("")
        paper.markdown(record.meaning)
    if record.solutions:
        paper.heading("Fixes")
        for number, text in enumerate(record.solutions, 1):
            paper.markdown(text, f"{number}. ")
    _bullets(paper, "Not this if", record.not_this_if)
    _example(paper, page)
    _why(paper, page)
    _bullets(paper, "Triggers", record.trigger_scenarios)
    _bullets(paper, "Common situations", record.common_situations)
    for correction in record.corrections:
        paper.heading("Said, and not so")
        paper.wrapped(plain_text(correction.said), "said:  ")
        paper.wrapped(plain_text(correction.code_does), "does:  ")
    _evidence(paper, page)
    if record.related:
        paper.heading("Related")
        for other in record.related:
            paper.wrapped(
                f"{other.slug or other.id}  {message_text(other.error_message)}", "  ", "    "
            )
    paper.lines.append("")
    if record.reproducer.command:
        paper.lines.append(f"See it happen: {record.reproducer.command}")
    also = f", also {', '.join(record.aliases)}" if record.aliases else ""
    paper.lines.append(paper.paint(_DIM, f"id {record.id}{also}"))
    return paper.text()


def _example(paper: _Paper, page: "EntryPage") -> None:
    example = page.record.example_fix
    if example:
        for heading, code in (("Broken", example.broken), ("Fixed", example.fixed)):
            paper.heading(heading)
            paper.lines += [f"    {line}" for line in code.splitlines()]


def _why(paper: _Paper, page: "EntryPage") -> None:
    record = page.record
    why = record.documentation.removeprefix(record.meaning).strip()
    if why:
        paper.heading("Why")
        paper.markdown(why)
    if record.guards:
        paper.heading("Raised under")
        for guard in record.guards:
            line = f"{guard['text']}   ({guard['kind']}, line {guard['line']})"
            paper.wrapped(line, "  ", "    ")


def _badges(page: "EntryPage") -> list[str]:
    record = page.record
    found = [record.package, SEVERITIES.get(record.severity, record.severity)]
    if record.background_tag:
        found.append(record.background_tag)
    if page.span:
        gone = f", gone in {page.gone_in}" if page.gone_in else ""
        found.append(f"{page.span}{gone}")
    if record.file_path:
        found.append(f"{record.file_path}:{record.line_number}")
    if page.verified:
        found.append(f"executed on {page.verified_span}")
    elif record.explained:
        found.append("not run yet")
    return found


def _bullets(paper: _Paper, heading: str, items: list[str]) -> None:
    if items:
        paper.heading(heading)
        for item in items:
            paper.markdown(item, "- ")


def _evidence(paper: _Paper, page: "EntryPage") -> None:
    if not page.record.evidence:
        return
    paper.heading("Runs")
    marks = {True: paper.paint(_GREEN, "pass"), False: paper.paint(_RED, "fail")}
    for run in page.record.evidence:
        mark = "skip" if run.outcome == "skipped" else marks[run.passed]
        said = run.reason or (f"{run.error_class}: {run.message}" if run.message else run.outcome)
        head = f"{run.step:<7}  {run.subject:<16} {run.device:<4}  "
        paper.wrapped(shown_value(said or ""), f"{mark}  {head}", " " * (6 + len(head)))
