"""Tracebacks as they arrive: chained, grouped, cut at either end, wrapped, without a message.

`parse` reads the lines of one stream and gives every exception that was raised, in the order in
which Python prints them, with the frames the log shows and nothing else; the lines that belong to
no traceback are left for `app.diagnosis.units`.
"""

import re
from typing import Final

from app.diagnosis.lines import Line
from app.diagnosis.patterns import lazy
from app.diagnosis.raised import Frame, Raised, Relation
from app.diagnosis.streams import CARETS, EXCEPTION, Stream

_HEADER: Final = re.compile(
    r"(?P<lead>.{0,400}?)(?P<group>Exception Group )?Traceback \(most recent call last"
)
_FRAME: Final = re.compile(
    r'\s*File "(?P<file>[^"\n]{1,500})", line (?P<line>\d{1,7})'
    r"(?:,? in (?P<function>[^\x00-\x1f\"()]{1,300}?))?\s*$"
)
_RICH: Final = lazy(
    r"\s*│ (?P<file>/[^\s:│]{1,300}):(?P<line>\d{1,7}) in (?P<function>[\w.<>]{1,120})"
)
_RICH_BOX: Final = lazy(r"\s*[╭│╰]")
_WRAPPED: Final = re.compile(r'\s*File "')
_MARKERS: Final = (
    ("During handling of the above exception, another exception occurred", "handling"),
    ("The above exception was the direct cause of the following exception", "cause"),
)
_SEPARATOR: Final = lazy(r"\s*\+(?:-\+)?-{3,}(?: (?P<number>\d+|\.\.\.) -{3,})?\s*$")
_TREE: Final = re.compile(r"(?:\s{0,40}[|+] ){1,8}")
_STOP: Final = re.compile(
    r"\"{3}$|(?:Killed|Aborted|Segmentation fault|Bus error|Terminated)\b|\S{1,80}: line \d"
    r"|\[\d{1,4}\][ +-]"
    r"|\$ |#{1,6} |</?\w{1,20}>|usage: |Process \S{1,80}:$|Exception (?:in thread|ignored in)"
    r"|\S{1,200}\.py:\d{1,6}: \w{0,40}Warning|terminate called|Fatal Python error|Traceback \("
    r"|\S{1,60}\$ "
    r"|(?:srun|slurmstepd|torchrun): "
)
_SUFFIX: Final = re.compile(
    r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Group|Timeout|Empty|Full|Abort|Failure"
    r"|Failed|Mismatch|Fault|Died|Expired|Invalid)(?:\([\w.]*\))?$"
)
_ANNOUNCES: Final = lazy(r"\s{0,8}(?:Exception|Error|Unhandled|Uncaught|Failed|Fatal)\b")
FAULT: Final = "Fatal Python error"
"""What stands in the place of a class where Python's fault handler reports a signal."""
_FATAL: Final = lazy(r"Fatal Python error: ")
_FAULT_BEFORE: Final = 6
_MESSAGE_LINES: Final = 60
_WRAPS: Final = 3
_NOISE: Final = 12


class Parser:
    """Reads one stream; `chains` and `rest` hold the result."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.lines = stream.lines
        self.chains: list[list[Raised]] = []
        self.rest: list[int] = []
        """Indices of lines outside every traceback."""
        self._relation: Relation | None = None
        self._wrapped = False
        self._at = 0

    def run(self) -> None:
        """Read all lines."""
        end = len(self.lines)
        while self._at < end:
            line = self.lines[self._at]
            header = _HEADER.match(line.text) if "Traceback (most" in line.text else None
            marker = self._marker(line.text)
            if line.gap:
                self._relation = None
            if marker:
                self._relation = marker
                self._at += 1
            elif "most recent call first" in line.text:
                self._dump()
            elif header:
                lead = header["lead"] if header["lead"].strip() else self._announced()
                self._at += 1
                self._body(line, lead, cut_start=False, group=bool(header["group"]))
            elif self._frame(self._at)[0]:
                self._body(line, "", cut_start=True, group=False)
            else:
                if line.text.strip() and not _SEPARATOR().match(line.text):
                    self._relation = None
                self.rest.append(self._at)
                self._at += 1

    def _announced(self) -> str:
        """The record on the line before, if it announces a traceback."""
        line = self.lines[self._at - 1] if self._at and self.rest[-1:] == [self._at - 1] else None
        if line is None or line.gap or line.fence:
            return ""
        loud = line.level in ("ERROR", "CRITICAL", "FATAL") or _ANNOUNCES().match(line.text)
        return line.text if loud else ""

    @staticmethod
    def _marker(text: str) -> Relation | None:
        if "above exception" in text:
            for words, relation in _MARKERS:
                if words in text:
                    return relation  # type: ignore[return-value]  # the table's second column
        return None

    def _frame(self, at: int) -> tuple[Frame | None, int]:
        """The frame at a line and the lines it takes; what a terminal wrapped is joined."""
        text = _untree(self.lines[at].text)
        m = _FRAME.match(text) or _RICH().match(text)
        taken = 1
        if m is None and _WRAPPED.match(text):
            for taken in range(2, 2 + _WRAPS):
                if at + taken > len(self.lines):
                    break
                text = text.rstrip("\n") + self.lines[at + taken - 1].text.lstrip(" |")
                m = _FRAME.match(text)
                if m:
                    break
        if m is None:
            return None, 0
        name = (m["function"] or "").strip()
        return Frame(m["file"], int(m["line"]), name, "", self.lines[at].number), taken

    def _body(self, head: Line, lead: str, *, cut_start: bool, group: bool) -> None:
        """Read frames and the exception line that ends them."""
        raised = Raised(
            error_class=None,
            relation=self._relation,
            lead=_untree(lead).strip(),
            first=head.number,
            last=head.number,
            rank=head.rank or self.stream.rank,
            source=self.stream.source,
            time=head.time,
            level=head.level,
            progress=head.progress,
            cut_start=cut_start,
        )
        self._relation = None
        own = None if cut_start else head.own
        noise = 0
        while self._at < len(self.lines):
            line = self.lines[self._at]
            frame, taken = self._frame(self._at)
            if frame:
                own = line.own
                raised.frames.append(frame)
                raised.last = line.number
                self._at += taken
                continue
            if self._ends(line, own, raised):
                break
            text = _untree(line.text)
            if self._is_exception(text, raised):
                self._message(raised, text, own or "")
                break
            if (
                raised.frames
                and not raised.frames[-1].source
                and text.strip(" .…")
                and not CARETS.match(text)
            ):
                raised.frames[-1] = _with_source(raised.frames[-1], text.strip())
            elif text.strip() and text[:1] not in (" ", "\t") and not CARETS.match(text):
                noise += 1
                if noise > _NOISE:
                    break
            self._at += 1
        raised.cut_end = raised.error_class is None
        if raised.frames or raised.error_class:
            self._keep(raised, group=group)

    def _dump(self) -> None:
        """Read the stacks that a dying or hanging process prints, innermost call first.

        Only the thread at fault is taken over, and only if the line that names the fault stands
        right before; the others say what was going on, not what went wrong.
        """
        head = self.lines[self._at]
        fault = _fault(self.lines[max(0, self._at - _FAULT_BEFORE) : self._at])
        current = "Current thread" in head.text or "File " in head.text
        self._at += 1
        frames: list[Frame] = []
        while self._at < len(self.lines):
            frame, taken = self._frame(self._at)
            if frame is None:
                break
            frames.append(frame)
            self._at += taken
        if fault is None or not current or not frames:
            return
        line, m = fault
        self.rest = [i for i in self.rest if i != self._index_of(line)]
        raised = Raised(
            error_class=FAULT,
            message=[line],
            at=self._index_of(line),
            offset=m.end(),
            frames=frames[::-1],
            first=line.number,
            last=frames[-1].number,
            rank=line.rank or self.stream.rank,
            source=self.stream.source,
            time=line.time,
        )
        self.chains.append([raised])

    def _index_of(self, line: Line) -> int:
        return next(i for i in range(self._at - 1, -1, -1) if self.lines[i] is line)

    def _keep(self, raised: Raised, *, group: bool) -> None:
        if raised.relation and self.chains:
            self.chains[-1].append(raised)
        else:
            self.chains.append([raised])
        if group or self._wrapped:
            # what a group holds, or what failed at the other side of a remote call, comes next
            self._relation, self._wrapped = "group", False
        elif raised.relation == "group":
            # siblings follow until something else is said
            self._relation = "group"

    def _ends(self, line: Line, own: str | None, raised: Raised) -> bool:
        """Whether the traceback is over before its exception line was seen."""
        if (
            line.fence
            or line.gap
            or "Traceback (most recent" in line.text
            or self._marker(line.text)
        ):
            return True
        return bool(line.own and own is not None and line.own != own and raised.frames)

    @staticmethod
    def _is_exception(text: str, raised: Raised) -> bool:
        if text[:1] in (" ", "\t", ""):
            return False
        m = EXCEPTION.match(text)
        if m is None:
            return False
        name = m["cls"].rsplit(".", 1)[-1]
        if _SUFFIX.search(m["cls"]):
            return True
        if not raised.frames or m["cls"].endswith(")"):
            return False
        # An own class without the usual ending; in an unindented paste it may be a code line.
        return name.lstrip("_")[:1].isupper() and bool(
            raised.frames[-1].source or not _looks_like_code(text)
        )

    def _message(self, raised: Raised, text: str, own: str) -> None:
        """Read the exception line and the lines of the message that follow it."""
        m = EXCEPTION.match(text)
        if m is None:
            return
        line = self.lines[self._at]
        raised.error_class = m["cls"]
        raised.message = [line]
        raised.at = self._at
        raised.offset = len(line.text) - len(text) + m.end()
        raised.last = line.number
        self._at += 1
        while self._at < len(self.lines) and len(raised.message) < _MESSAGE_LINES:
            line = self.lines[self._at]
            text = line.text
            if (
                line.fence
                or line.gap
                or (line.own and line.own != own)
                or _STOP.match(text)
                or self._marker(text)
                or _SEPARATOR().match(text)
                or "Traceback (most recent" in text
                or self._frame(self._at)[0]
            ):
                break
            raised.message.append(line)
            self._at += 1
        if m["cls"].endswith(")") and self._at < len(self.lines) and self._frame(self._at)[0]:
            self._wrapped = True
        while len(raised.message) > 1 and not raised.message[-1].text.strip(" |"):
            raised.message.pop()
        raised.last = raised.message[-1].number


def _fault(lines: list[Line]) -> tuple[Line, re.Match[str]] | None:
    """The line in which the interpreter names the fault."""
    for line in reversed(lines):
        m = _FATAL().search(line.text)
        if m:
            return line, m
    return None


def _untree(text: str) -> str:
    """A line without the tree that exception groups are drawn with."""
    if "|" not in text and "+" not in text:
        return text
    m = _TREE.match(text)
    return text[m.end() :] if m else text


def _with_source(frame: Frame, source: str) -> Frame:
    return Frame(frame.file, frame.line, frame.function, source, frame.number)


def _looks_like_code(text: str) -> bool:
    return text.rstrip().endswith((":", "(", ",", "{", "["))


def parse(stream: Stream) -> Parser:
    """Read one stream."""
    parser = Parser(stream)
    parser.run()
    return parser
