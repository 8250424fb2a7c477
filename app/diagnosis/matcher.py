"""Which template a unit is a message of: fixed strings, then the ordered search, then a judge.

Candidates are ranked by how much fixed text they explain; the class, the place in the traceback and
how completely the message is covered break ties. What a user typed is never matched, and an error
of one engine is never given the entry of another.
"""

import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from app.diagnosis.alike import cut_off, older
from app.diagnosis.engines import Origin, allowed
from app.diagnosis.exits import ENTRIES, FAULTS
from app.diagnosis.fit import fit, fit_squeezed, value, weight
from app.diagnosis.index import Index, TemplateRecord
from app.diagnosis.judging import (
    bare,
    by_library,
    judge,
    near,
    placed,
)
from app.diagnosis.literals import Scanner
from app.diagnosis.matches import Match, placed_match, values_of
from app.diagnosis.patterns import lazy
from app.diagnosis.places import PYTHON, Places, leaf
from app.diagnosis.streams import Stream
from app.diagnosis.strings import Strings
from app.diagnosis.tracebacks import FAULT
from app.diagnosis.units import Unit

_ALTERNATIVE: Final = lazy(r"_\d$")

_INNERMOST: Final = 140.0
"""What it weighs that a message tells the cause of the one around it."""


class Matcher:
    """Matches units against an index."""

    def __init__(self, source: Index | Strings) -> None:
        strings = Strings(source) if isinstance(source, Index) else source
        index = self.index = strings.index
        self.literals = strings.literals
        self._local = threading.local()
        self._pattern = lru_cache(maxsize=256)(re.compile)
        self._tall = lru_cache(maxsize=20_000)(self._is_tall)
        self.places = Places(index)
        self.optional = frozenset(index.meta.get("optional", ()))
        """Attributes of the engine's data that may be None."""

    @property
    def _scanner(self) -> Scanner:
        """The scanner of this thread; two threads cannot share one."""
        if not hasattr(self._local, "scanner"):
            self._local.scanner = self.literals.scanner()
        scanner: Scanner = self._local.scanner
        return scanner

    def by_slug(self, slug: str) -> TemplateRecord | None:
        """The explained entry of a slug."""
        number = self.index.meta.get("slugs", {}).get(slug)
        return self.index.record(number) if number is not None else None

    def lines_hit(self, stream: Stream) -> dict[int, set[int]]:
        """Line index → records, a fixed string of which stands in that line."""
        data: list[bytes] = [line.text.encode("utf-8", "replace") for line in stream.lines]
        starts = [0]
        for line in data:
            starts.append(starts[-1] + len(line) + 1)
        found: dict[int, set[int]] = {}
        posting, reach = self.index.posting, self.index.reach
        index = 0
        for literal, end in self._scanner.scan(b"\n".join(data)):
            numbers = posting(literal)
            if not numbers:
                continue
            while starts[index + 1] < end:
                index += 1
            if index in found:
                found[index].update(numbers)
            else:
                found[index] = set(numbers)
            if not reach(literal)[0]:
                continue
            for number in numbers:
                # the words stand in a later line of a message that begins further up
                above = self._lines_above(number, literal) if self._tall(number) else 0
                if 0 < above <= index:
                    found.setdefault(index - above, set()).add(number)
        return found

    def _is_tall(self, number: int) -> bool:
        """Whether a record's message has several lines."""
        return "\n" in "".join(self.index.record(number).parts)

    def _lines_above(self, number: int, literal: int) -> int:
        """Lines of a record's message before the one that a fixed string of it stands in."""
        parts = self.index.record(number).parts
        said = self.index.literal(literal).decode("utf-8", "replace")
        before = 0
        for part in parts:
            at = part.find(said)
            if at >= 0:
                return before + part.count("\n", 0, at)
            before += part.count("\n")
        return 0

    def best(
        self,
        unit: Unit,
        hits: dict[int, set[int]],
        origin: Origin,
    ) -> Match | None:
        """The template that explains a unit best, or None.

        Args:
            unit: what was raised or said.
            hits: what `lines_hit` gave for its stream.
            origin: of the log; an error is never given an entry of another engine.
        """
        numbers: set[int] = set()
        for offset in range(max(1, len(unit.lines))):
            numbers |= hits.get(unit.index + offset, set())
        if unit.error_class and unit.kind != "http":
            numbers.update(self.index.by_class(bare(unit.error_class)))
        found = self._pick(unit, numbers, origin, squeezed=False)
        told = unit.kind != "said" or unit.error_class is not None
        if found is None and (numbers or len(unit.lines) > 1) and told:
            wrapped = self._wrapped(unit) if len(unit.lines) > 1 else numbers
            found = self._pick(unit, wrapped, origin, squeezed=True)
        if unit.raised is not None and (found is None or found.record.package == PYTHON):
            placed_here = self._by_place(unit, origin)
            if found is None or (placed_here and _raises(unit, placed_here, origin.number)):
                found = placed_here
        if found is None and unit.error_class == FAULT:
            found = self._signal(unit)
        if unit.kind != "said" and not _certain(unit, found):
            other = cut_off(self.index, unit, origin)
            if other and (found is None or not found.opens or other.score > found.score):
                found = other
        if found is None and unit.kind == "said" and unit.error_class is None:
            found = older(self, unit, origin)
        return found

    def scan(self, text: str) -> set[int]:
        """Records, a fixed string of which stands in a text."""
        numbers: set[int] = set()
        for hit in self._scanner.scan(text.encode("utf-8", "replace")):
            numbers.update(self.index.posting(hit.literal))
        return numbers

    def _wrapped(self, unit: Unit) -> set[int]:
        """Records found when a wrapped message is put on one line again."""
        texts = [line.text for line in unit.lines]
        return self.scan("".join(texts)) | self.scan(" ".join(t.strip() for t in texts))

    def _pick(
        self, unit: Unit, numbers: Iterable[int], origin: Origin, *, squeezed: bool
    ) -> Match | None:
        best: Match | None = None
        for number in numbers:
            record = self.index.record(number)
            if not allowed(unit, record, origin.engine):
                continue
            match = (
                self._curated(unit, record, number, squeezed=squeezed)
                if record.pattern
                else self._scanned(unit, record, number, origin, squeezed=squeezed)
            )
            if match is None:
                continue
            if best:
                _explain(best, match)
            if best and {best.record.package, match.record.package} != {match.record.package}:
                # the engine's own entry of a library's error knows what the library's entry knows
                for one, other in ((match, best), (best, match)):
                    if one.record.raised_by:
                        one.values = {**other.values, **one.values}
            if best is None or match.score > best.score:
                best = match
        return best

    def _curated(
        self, unit: Unit, record: TemplateRecord, number: int, *, squeezed: bool
    ) -> Match | None:
        """A hand-written pattern: the entries of other libraries."""
        text = unit.text.replace("\n", "") if squeezed else unit.text
        pattern = self._pattern(record.pattern)
        # a record that names its class is searched behind it first, as an exception's message is
        begin = unit.begin
        m = pattern.search(text[begin:])
        if m is None and begin:
            begin, m = 0, pattern.search(text)
        if m is None:
            return None
        start, end = m.start() + begin, m.end() + begin
        if unit.kind == "said" and (unit.dump or start >= unit.end):
            return None
        values = {
            _ALTERNATIVE().sub("", name): value(text)
            for name, text in m.groupdict().items()
            if text is not None
        }
        named = bare(unit.error_class or "") == bare(record.error_class)
        before = text[unit.begin : start]
        opens = not before.strip(" :") or unit.kind == "said" or _nested_class(before)
        score = weight([m[0]]) + 30.0 * named + (60.0 if opens else 0.0)
        if "Last error:" in before:
            score += _INNERMOST  # NCCL's frame around what really failed
        return Match(
            unit=unit,
            record=record,
            number=number,
            values=values,
            span=(start, end),
            score=score,
            whole=True,
            opens=opens,
            placed=False,
        )

    def _scanned(
        self, unit: Unit, record: TemplateRecord, number: int, origin: Origin, *, squeezed: bool
    ) -> Match | None:
        if (len(record.parts) == 1 and not record.parts[0]) or (
            record.raised_by and not by_library(unit, record)
        ):
            return None
        end = len(unit.text) if self._tall(number) else unit.end
        if squeezed:
            got = fit_squeezed(record.parts, unit.text, begin=unit.begin)
        else:
            got = fit(record.parts, unit.text, begin=unit.begin, end=end)
        if got is None:
            return None
        score = judge(unit, record, got, origin.number)
        if score is None:
            return None
        score += 100.0 if record.raised_by else 0.0
        values = values_of(record, got, unit.text.replace("\n", " ") if squeezed else unit.text)
        return Match(
            unit, record, number, values, (got.start, got.end), score, got.whole, got.opens,
            placed(unit, record),
        )  # fmt: skip

    def _by_place(self, unit: Unit, origin: Origin) -> Match | None:
        """A message that no fixed string leads to: by class and place.

        Either the template has no words of its own (`assert n == m`), or the log cuts the message
        off before they are complete, or an older release worded it a little differently.
        """
        raised = unit.raised
        if raised is None or not raised.frames:
            return None
        frame = raised.frames[-1]
        best: Match | None = None
        for number in self.index.by_function(leaf(frame.function), bare(unit.error_class or "")):
            record = self.index.record(number)
            if not allowed(unit, record, origin.engine):
                continue
            match = placed_match(unit, record, number, origin.number)
            if match and (best is None or match.score > best.score):
                best = match
        return best

    def _signal(self, unit: Unit) -> Match | None:
        """The entry of the signal that Python's fault handler reports."""
        number = next((n for words, n in FAULTS.items() if unit.message.startswith(words)), 0)
        record = self.by_slug(ENTRIES.get(number, ""))
        if record is None:
            return None
        return Match(
            unit, record, -1, {}, (unit.begin, unit.end), _INNERMOST,
            whole=True, opens=True, placed=False,
        )  # fmt: skip


def _explain(one: Match, other: Match) -> None:
    """Let a library's explained entry speak for an engine's that only passes its message on."""
    for own, theirs in ((one, other), (other, one)):
        record = theirs.explainer or theirs.record
        silent = not own.record.slug and not own.record.raised_by
        if record.slug and record.pattern and record.package != PYTHON and silent:
            a, b = theirs.span
            if weight([theirs.unit.text[a:b]]) > 2 * weight(own.record.parts):
                own.explainer = record


def _certain(unit: Unit, found: Match | None) -> bool:
    """Whether no cut-off message could fit better."""
    if found is None or not (found.opens and found.whole):
        return False
    if unit.text[found.span[1] : unit.end].strip(" ."):
        return False
    return found.placed or unit.raised is None or not unit.raised.frames


def _raises(unit: Unit, match: Match, release: int | None) -> bool:
    """Whether the engine itself raised it, not a statement of Python in that function."""
    source = unit.raised.frames[-1].source if unit.raised else ""
    if source:
        return source.startswith("raise ")
    return match.placed and near(unit, match.record, release) == 1.0


def _nested_class(before: str) -> bool:
    """Whether only the class of a wrapped exception stands before: `RuntimeError: `."""
    return before.endswith(": ") and before[:-2].replace(".", "").isidentifier()
