"""What a stream says, cut into units: one exception, one record, one HTTP error body each.

A unit has a text, the place in it where the message begins, and the class if one is named. Text
that a user sent to the model (a logged request) is never taken for a message of the program.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from app.diagnosis.dumps import DUMP
from app.diagnosis.echoes import ECHO_WORDS
from app.diagnosis.lines import Line
from app.diagnosis.patterns import lazy
from app.diagnosis.raised import Raised
from app.diagnosis.streams import EXCEPTION, Stream

Kind = Literal["raised", "said", "http"]

_NAMED: Final = re.compile(
    r"\s{0,40}(?P<cls>(?:[A-Za-z_]\w{0,80}\.){0,10}[A-Za-z_]\w{0,120}"
    r"(?:Error|Exception|Interrupt|Exit|Failure|Expired)(?:\([\w.]{1,120}\))?)(?:: |:?$)"
)
_PRETTY: Final = ('"message"', "'message'", '"detail"', "'detail'", '"error"')
"""How a line of a pretty-printed error body begins."""
_WHAT: Final = lazy(r"\s{0,8}what\(\):\s{1,4}")
_THROWN: Final = lazy(r"terminate called after throwing an instance of '(?P<cls>[^'\n]{1,200})'")
_ERROR_CODE: Final = lazy(r"Error code: (\d{3})\b")
_FOLLOWING: Final = 12
"""Lines behind a record's first that may belong to its message."""


@dataclass(slots=True)
class Unit:
    """One thing that a process said."""

    kind: Kind
    stream: Stream
    text: str
    begin: int
    """Where the message begins in `text`."""
    end: int
    """Where it ends; text behind it is looked at only if the template goes on."""
    error_class: str | None
    lines: list[Line]
    starts: list[int]
    """Where each line begins in `text`."""
    index: int
    """Of the first line in the stream."""
    raised: Raised | None = None
    rank: str | None = None
    time: float | None = None
    dump: bool = False
    """The text quotes what a user sent."""
    http_code: int | None = None
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """Number of its first line in the log."""
        return self.raised.first if self.raised else self.lines[0].number

    @property
    def last(self) -> int:
        """Number of its last line in the log."""
        return self.raised.last if self.raised else self.lines[0].number

    @property
    def message(self) -> str:
        """The message alone."""
        return self.text[self.begin : self.end].strip()

    def line_of(self, offset: int) -> tuple[Line, int]:
        """The line that holds an offset of `text`, and the offset within it."""
        chosen = 0
        for i, start in enumerate(self.starts):
            if start > offset:
                break
            chosen = i
        return self.lines[chosen], offset - self.starts[chosen]


def of_raised(raised: Raised, stream: Stream) -> Unit:
    """The unit of an exception."""
    texts = raised.texts()
    lines = list(raised.message)
    text = "\n".join(texts)
    starts = [0]
    for t in texts[:-1]:
        starts.append(starts[-1] + len(t) + 1)
    if lines:
        starts[0] = -raised.offset
    blank = text.find("\n\n")
    return Unit(
        kind="raised",
        stream=stream,
        text=text,
        begin=0,
        end=len(text) if blank < 0 else blank,
        error_class=raised.error_class,
        lines=lines,
        starts=starts,
        index=raised.at,
        raised=raised,
        rank=raised.rank,
        time=raised.time,
    )


def of_line(stream: Stream, index: int) -> Unit:
    """The unit of a record that begins at a line."""
    first = stream.lines[index]
    lines = [first]
    for line in stream.lines[index + 1 : index + 1 + _FOLLOWING]:
        if line.own or line.fence or line.gap or not line.text.strip():
            break
        lines.append(line)
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line.text) + 1)
    text = "\n".join(line.text for line in lines)
    begin = len(first.text) - len(first.text.lstrip())
    error_class = None
    named = _NAMED.match(first.text)
    what = _WHAT().match(first.text)
    if named:
        error_class, begin = named["cls"], named.end()
    elif what:
        begin = what.end()
        error_class = _thrown(stream, index)
    return Unit(
        kind="said",
        stream=stream,
        text=text,
        begin=begin,
        end=len(first.text),
        error_class=error_class,
        lines=lines,
        starts=starts,
        index=index,
        rank=first.rank or stream.rank,
        time=first.time,
        dump=DUMP.search(first.text) is not None,
    )


def _thrown(stream: Stream, index: int) -> str:
    for line in stream.lines[max(0, index - 2) : index]:
        m = _THROWN().search(line.text)
        if m:
            return m["cls"]
    return "std::exception"


def of_bodies(stream: Stream, index: int) -> list[Unit]:
    """The units of the HTTP error bodies in a line."""
    line = stream.lines[index]
    start = line.text.lstrip()
    if start.startswith(("Receive:", "Finish:")) or (
        "{" not in line.text and not start.startswith(_PRETTY)
    ):
        return []
    from app.diagnosis.envelopes import bodies  # noqa: PLC0415  # most logs have none

    return [
        Unit(
            kind="http",
            stream=stream,
            text=body.message,
            begin=0,
            end=len(body.message),
            error_class=body.type,
            lines=[line],
            starts=[-body.start],
            index=index,
            rank=line.rank or stream.rank,
            time=line.time,
            http_code=body.code,
        )
        for body in bodies(line.text)
    ]


def of_answer(unit: Unit) -> list[Unit]:
    """The HTTP error bodies that a client's exception quotes."""
    if "{" not in unit.text or not unit.lines:
        return []
    from app.diagnosis.envelopes import bodies  # noqa: PLC0415  # most logs have none

    return [
        Unit(
            kind="http",
            stream=unit.stream,
            text=body.message,
            begin=0,
            end=len(body.message),
            error_class=body.type,
            lines=unit.lines[:1],
            starts=[unit.starts[0] - body.start],
            index=unit.index,
            rank=unit.rank,
            time=unit.time,
            http_code=body.code or _code_before(unit.text),
        )
        for body in bodies(unit.text)
    ]


def _code_before(text: str) -> int | None:
    m = _ERROR_CODE().search(text)
    return int(m[1]) if m else None


def named(unit: Unit) -> bool:
    """Whether a record names an exception class, known or not."""
    return unit.error_class is not None and not unit.dump


def units_at(stream: Stream, index: int, *, wanted: bool) -> list[Unit]:
    """The units that begin at a line outside of tracebacks and are worth a look.

    Args:
        stream: what a process said.
        index: of the line.
        wanted: a fixed string of a template stands in it.
    """
    line = stream.lines[index]
    found = of_bodies(stream, index)
    if found and line.text.lstrip().startswith(("{", '"', "'", "data: {")):
        return found
    echoes = wanted or any(word in line.text for word in ECHO_WORDS)
    if echoes or EXCEPTION.match(line.text.lstrip()) or "what()" in line.text:
        unit = of_line(stream, index)
        if echoes or named(unit):
            found.append(unit)
    return found
