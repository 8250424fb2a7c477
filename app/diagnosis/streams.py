"""One log, many printers: lines are sorted to the process that printed them.

A prefix that stands on every line (container, Ray actor, `[rank0]:`) tells printers apart by
itself. The engine's own prefix (`[2025-12-04 07:41:10 TP3]`) stands on the first line of a record
only; the lines that follow belong to it until the next record. Where ranks share one stream and
several tracebacks are open at once, each line goes to the one whose grammar expects it. What the
C++ runtime prints of a dying process has no prefix; where it names its rank, it is that rank's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from app.diagnosis.lines import Line
from app.diagnosis.patterns import lazy

FRAME: Final = re.compile(r'\s*File "[^"\n]{1,500}')
HEADER: Final = re.compile(r"Traceback \(most recent call last")
CARETS: Final = re.compile(r"\s*[~^ ]*[~^][~^ ]*$")
EXCEPTION: Final = re.compile(
    r"(?P<cls>(?:[A-Za-z_]\w{0,80}\.){0,10}[A-Za-z_]\w{0,120}(?:\([\w.]{1,120}\))?)(?::(?:\s|$)"
    r"|\s{0,8}$)"
)

_WHO: Final = lazy(r"\s{0,8}what\(\):\s{1,4}\[(?:PG [\w ().-]{1,80} )?[Rr]ank (?P<rank>\d{1,5})\]")
"""The rank that names itself in what the C++ runtime prints without any prefix."""
_DYING: Final = "terminate called"


@dataclass(slots=True)
class Stream:
    """The lines of one printer, in order."""

    source: str
    rank: str | None
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Open:
    """A traceback whose end has not been seen."""

    stream: Stream
    wants_source: bool = False
    fed: int = 0


@dataclass(slots=True)
class _Source:
    """What is known of one outer prefix while its lines go by."""

    last: Stream
    open: list[_Open] = field(default_factory=list)
    headed: bool = False
    """The last record began a traceback."""


def split(lines: Iterable[Line]) -> list[Stream]:
    """Sort lines to streams; the order of streams is that of their first lines."""
    streams: dict[tuple[str, str | None], Stream] = {}
    sources: dict[str, _Source] = {}
    for clock, line in enumerate(lines, 1):
        if line.gap:
            for one in sources.values():
                one.open.clear()
        known = sources.get(line.source)
        stream: Stream | None
        if "what():" in line.text and not line.own and (m := _WHO().match(line.text)):
            line.rank = f"rank{m['rank']}"
            stream = _of_rank(line, streams)
            known = known or sources.setdefault(line.source, _Source(stream))
            _take_over(known.last, stream)
            known.last = stream
        elif line.own or known is None:
            key = (line.source, line.rank)
            stream = streams.get(key)
            if stream is None:
                stream = streams[key] = Stream(line.source, line.rank)
            if known is None:
                known = sources[line.source] = _Source(stream)
            known.last = stream
        else:
            stream = _continues(line, known, clock)
        stream.lines.append(line)
        if HEADER.search(line.text):
            known.open = [o for o in known.open if o.stream is not stream]
            known.open.append(_Open(stream, fed=clock))
            known.headed = True
        elif line.own:
            known.headed = False
    return list(streams.values())


def _of_rank(line: Line, streams: dict[tuple[str, str | None], Stream]) -> Stream:
    """The stream of the rank that a line names; of several the one that printed last."""
    own = [s for (_, rank), s in streams.items() if rank == line.rank and s.lines]
    if own:
        return max(own, key=lambda s: s.lines[-1].number)
    return streams.setdefault((line.source, line.rank), Stream(line.source, line.rank))


def _take_over(before: Stream, stream: Stream) -> None:
    """The line that announces what a line of C++ says belongs to the same process."""
    if before is not stream and before.lines and before.lines[-1].text.startswith(_DYING):
        stream.lines.append(before.lines.pop())


def _continues(line: Line, known: _Source, clock: int) -> Stream:
    """The stream of a line without a prefix of its own."""
    if not known.open:
        return known.last
    text = line.text
    frame = FRAME.match(text) is not None
    indented = text[:1] in (" ", "\t")
    ends = not indented and not frame and EXCEPTION.match(text) is not None
    if len(known.open) == 1 and known.headed:
        chosen = known.open[0]
    elif not (frame or indented or ends):
        return known.last
    else:
        willing = [o for o in known.open if frame or ends or o.wants_source] or known.open
        chosen = min(willing, key=lambda o: o.fed)
    chosen.fed = clock
    chosen.wants_source = frame
    if ends:
        known.open.remove(chosen)
        known.last = chosen.stream
        known.headed = bool(known.open)
    return chosen.stream
