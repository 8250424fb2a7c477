"""Any form of a log in, the program's own words out, line by line, with the way back.

`clean` undoes what terminals, containers, log services and issue trackers did to a log: colours,
carriage returns, JSON envelopes, quoted line breaks, prefixes. Each `Line` still knows where in
the original it stood. Nothing is thrown away: a line that cannot be understood stays as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.diagnosis.patterns import lazy
from app.diagnosis.prefixes import CONTAINER, Peeled, peel
from app.diagnosis.typography import combined, folded, folded_with_cuts
from app.diagnosis.wrapping import joined, width

if TYPE_CHECKING:
    from app.diagnosis.tables import Table

ESCAPES: Final = re.compile(
    # CSI, OSC and two-character sequences; the same with the escape character made visible, and
    # colour codes whose escape character a web form has swallowed
    r"(?:\x1b|\x9b|\\x1b|\\u001b|\\033|\^\[|#033)(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b]{0,200}"
    r"(?:\x07|\x1b\\)|[@-Z\\-_])|\[\d{1,3}(?:;\d{1,3}){0,4}m|\x1b|[\x00\ufeff]"
)
_ENTITY: Final = lazy(r"&(?:quot|lt|gt|amp|#39|#x27|nbsp);")
_ENTITIES: Final = {
    "&quot;": '"',
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
    "&#39;": "'",
    "&#x27;": "'",
    "&nbsp;": " ",
}
_REPEATED: Final = lazy(r" \[repeated \d{1,9}x across cluster\]$")
"""What Ray adds to a line that many workers printed."""
_FENCE: Final = lazy(r"\s{0,3}(?:`{3,}|~{3,})")
_MONTHS: Final = {
    name: i
    for i, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_STAMP: Final = lazy(
    r"(?:(?P<year>\d{4})[-/])?(?P<month>\d\d)[-/](?P<day>\d\d)[T ]"
    r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d(?:[.,]\d+)?)"
)
_GLOG_STAMP: Final = lazy(r"(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d(?:\.\d+)?)")
_SYSLOG_STAMP: Final = lazy(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)")
_EPOCH_STAMP: Final = lazy(r"1\d{12}$")
_DAYS: Final = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_MOST_WRAPPED: Final = 20_000
"""Lines of a paste from a terminal; a longer log was never on one."""
LONGEST: Final = 64_000
"""Characters of one line that are looked at; what a program says of an error stands before."""


@dataclass(slots=True)
class Line:
    """One line as the program wrote it."""

    number: int
    """Counted from 1 in the original."""
    text: str
    start: int
    """Where the raw line begins, in characters of the original."""
    column: int
    """Where `text` begins in the raw line."""
    raw: int
    """Length of the raw line."""
    source: str
    """Container, pod, process or rank whose prefix stands on every line; empty without one."""
    rank: str | None
    time: float | None
    """Seconds within the year, of the innermost time stamp."""
    level: str | None
    own: str
    """Prefixes that the program itself wrote, e.g. `record`; empty for a continuation line."""
    fence: bool = False
    gap: bool = False
    """Lines before this one were left out."""
    progress: str | None = None
    cuts: tuple[tuple[int, int], ...] = ()
    """Escape sequences taken out: (position in the cut line, characters); see `typography`."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Characters of the original that hold `text[start:end]`."""
        first, last = self.column + start, self.column + end
        a = first + sum(length for at, length in self.cuts if at <= first)
        b = last + sum(length for at, length in self.cuts if at < last)
        return self.start + min(a, self.raw), self.start + min(max(a, b), self.raw)


def clean(text: str, *, first: int = 1, start: int = 0) -> list[Line]:
    """Clean every line.

    Args:
        text: the log, or a part of it that begins at a line's start.
        first: the number of its first line.
        start: characters of the original before it.
    """
    lines: list[Line] = []
    partial: dict[str, Line] = {}
    pieces = text.split("\n")
    if "," in pieces[0]:
        from app.diagnosis.tables import table_of  # noqa: PLC0415  # most logs are none

        table = table_of(pieces)
        if table:
            return _tabled(table, pieces, first, start)
    wide = width(pieces) if len(pieces) <= _MOST_WRAPPED else None
    if wide:
        return _unwrap(pieces, wide, first, start)
    for number, raw in enumerate(pieces, first):
        for line, cut in _line(raw, number, start):
            before = partial.pop(line.source, None)
            if before is not None:
                # the container runtime cut a long line; its parts are one line again
                before.text += line.text
                before.raw += len(raw) + 1
            else:
                lines.append(line)
            if cut:
                partial[line.source] = before or line
        start += len(raw) + 1
    return lines


def _tabled(table: "Table", pieces: list[str], first: int, start: int) -> list[Line]:
    """Clean the records of a table."""
    from app.diagnosis.tables import rows  # noqa: PLC0415  # most logs are none

    starts = [start]
    for piece in pieces:
        starts.append(starts[-1] + len(piece) + 1)
    found: list[Line] = []
    for row in rows(table, pieces):
        outer = Line(
            number=first + row.line, text="", start=starts[row.line], column=0,
            raw=len(pieces[row.line]), source="",
            rank=None, time=None, level=None, own="",
        )  # fmt: skip
        found += [line for line, _ in _unwrapped(outer, row.text, row.time, None, "")]
    return found


def clean_one(raw: str, number: int) -> list[Line]:
    """Clean a single line; several come of it if it is an envelope around several."""
    return [line for line, _ in _line(raw, number, 0)]


def _unwrap(pieces: list[str], wide: int, first: int, start: int) -> list[Line]:
    """Clean lines that a terminal has wrapped; each keeps the number of its first part."""
    starts = [start]
    for piece in pieces:
        starts.append(starts[-1] + len(piece) + 1)
    lines: list[Line] = []
    for index, raw, breaks in joined(pieces, wide):
        for line, _ in _line(raw, first + index, starts[index]):
            # a line break that was taken out counts like an escape sequence of one character
            line.cuts = tuple(sorted((*line.cuts, *((b, 1) for b in breaks))))
            line.raw += len(breaks)
            lines.append(line)
    return lines


def _line(raw: str, number: int, start: int) -> Iterator[tuple[Line, bool]]:
    """The lines that one raw line holds, each with whether the runtime cut it."""
    if len(raw) > LONGEST:
        raw = raw[:LONGEST]
    column = 0
    if "\r" in raw:
        # a terminal shows the last thing written over the line; progress bars end in this way
        parts = raw.split("\r")
        for part in parts:
            if part.strip() and not (len(parts) > 2 and "%|" in part and part != parts[-1]):  # noqa: PLR2004  # written over more than once
                yield from _bare(part, number, start, column, len(raw))
            column += len(part) + 1
        if raw.strip("\r \t"):
            return
        raw = ""
    yield from _bare(raw, number, start, 0, len(raw))


def _bare(
    raw: str, number: int, start: int, column: int, length: int
) -> Iterator[tuple[Line, bool]]:
    cuts: tuple[tuple[int, int], ...] = ()
    if "[" in raw or "\x1b" in raw or "\x00" in raw or "\ufeff" in raw:
        raw, cuts = _without_escapes(raw)
    if not raw.isascii():
        raw, more = folded_with_cuts(raw)
        cuts = combined(cuts, more)
    if "&" in raw:
        raw = _ENTITY().sub(lambda m: _ENTITIES[m[0]], raw)
    if raw.endswith("across cluster]"):
        raw = _REPEATED().sub("", raw)
    found = peel(raw)
    text = raw[found.end :] if found.end else raw
    line = Line(
        number=number,
        text=text,
        start=start,
        column=column + found.end,
        raw=length,
        source=found.source,
        rank=found.rank,
        time=seconds(found.time) if found.time else None,
        level=found.level,
        own=_own(found),
        fence=text[:3] in ("```", "~~~") or bool(_FENCE().match(text)),
        progress=found.progress,
        cuts=cuts,
    )
    if "{" in text or "\\n" in text:
        from app.diagnosis.envelopes import unwrap  # noqa: PLC0415  # most logs have none

        inner = unwrap(text)
        if inner is not None:
            yield from _unwrapped(line, inner.text, inner.time, inner.level, inner.source)
            return
    yield line, found.partial


def _unwrapped(
    outer: Line, text: str, time: str | None, level: str | None, source: str
) -> Iterator[tuple[Line, bool]]:
    """The lines inside a JSON envelope or a quoted string."""
    stamp = seconds(time) if time else outer.time
    for i, part in enumerate(text.rstrip("\n").split("\n")):
        raw = folded(_without_escapes(part)[0])
        found = peel(raw)
        yield (
            Line(
                number=outer.number,
                text=raw[found.end :],
                start=outer.start,
                column=outer.column,
                raw=outer.raw,
                source="/".join(x for x in (outer.source, source, found.source) if x),
                rank=found.rank or outer.rank,
                time=seconds(found.time) if found.time else stamp,
                level=found.level or level or outer.level,
                own=_own(found) or ("" if i else outer.own),
            ),
            False,
        )


def _own(found: Peeled) -> str:
    if not found.marks:
        return ""
    return ",".join(m for m in found.marks.split(",") if m not in CONTAINER and m != "progress")


def _without_escapes(raw: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The line without escape sequences, and where they stood in what is left."""
    cuts: list[tuple[int, int]] = []
    parts: list[str] = []
    last = kept = 0
    for m in ESCAPES.finditer(raw):
        parts.append(raw[last : m.start()])
        kept += m.start() - last
        cuts.append((kept, m.end() - m.start()))
        last = m.end()
    if not cuts:
        return raw, ()
    parts.append(raw[last:])
    return "".join(parts), tuple(cuts)


def peel_again(line: Line, taken: int) -> None:
    """Take off what stands before a line's words now that `taken` characters before are gone."""
    found = peel(line.text[taken:])
    line.text = line.text[taken + found.end :]
    line.column += taken + found.end
    line.own = _own(found) or line.own
    line.rank = found.rank or line.rank
    line.level = found.level or line.level
    line.time = (seconds(found.time) if found.time else None) or line.time
    if found.source:
        line.source = f"{line.source}/{found.source}" if line.source else found.source


def seconds(stamp: str) -> float | None:
    """Seconds within the year of a time stamp in any of the forms that `peel` finds.

    The year is left out: half of the forms do not have it, and no log spans two.
    """
    m = _STAMP().search(stamp)
    if m:
        return _since(int(m["month"]), int(m["day"]), m["h"], m["m"], m["s"].replace(",", "."))
    m = _GLOG_STAMP().match(stamp)
    if m:
        return _since(int(m[1]), int(m[2]), m[3], m[4], m[5])
    m = _SYSLOG_STAMP().match(stamp)
    if m and m[1] in _MONTHS:
        return _since(_MONTHS[m[1]], int(m[2]), m[3], m[4], m[5])
    if _EPOCH_STAMP().match(stamp):
        days, ms = divmod(int(stamp), 86_400_000)
        return (days % 365) * 86_400 + ms / 1000
    return None


def _since(month: int, day: int, h: str, m: str, s: str) -> float | None:
    if not 1 <= month <= len(_DAYS):
        return None
    return (_DAYS[month - 1] + day - 1) * 86_400 + int(h) * 3_600 + int(m) * 60 + float(s)
