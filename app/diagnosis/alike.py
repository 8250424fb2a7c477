"""Messages that are not word for word a template's: cut off, reworded, or of an older release."""

from typing import TYPE_CHECKING, Final

from app.diagnosis.engines import Origin, allowed
from app.diagnosis.fit import fit, fit_squeezed, weight
from app.diagnosis.index import Index, TemplateRecord
from app.diagnosis.judging import bare, judge, placed
from app.diagnosis.matches import Match, values_of
from app.diagnosis.sites import newest_of
from app.diagnosis.units import Unit

if TYPE_CHECKING:
    from app.diagnosis.matcher import Matcher

_LONGEST: Final = 4_000
_LEAST: Final = 14
"""Letters and digits of fixed text that two wordings of one message share."""
_SHARE: Final = 0.4
_HANGS: Final = "atchdog timeout ("
"""Begins a message that older releases word without the name of the process in front."""


def later(matcher: "Matcher", unit: Unit, record: TemplateRecord) -> TemplateRecord | None:
    """What a newer release than the record's last says in its place, if a message fits both.

    Args:
        matcher: the index, opened.
        unit: the message.
        record: its template.
    """
    text = unit.message[:_LONGEST]
    if weight(record.parts) < _LEAST:
        return None
    best, least = None, (newest_of(record), 0)
    for number in matcher.scan(text) | set(matcher.index.by_opening(text)):
        other = matcher.index.record(number)
        same = bare(other.error_class) == bare(record.error_class)
        if other.package != record.package or not same or other.raised_by:
            continue
        got = fit(other.parts, text)
        enough = max(_LEAST, weight(other.parts) * _SHARE)
        if got is None or not got.opens or got.weight < enough:
            continue
        if (newest_of(other), got.weight) > least and newest_of(other) > newest_of(record):
            best, least = other, (newest_of(other), got.weight)
    return best


def cut_off(index: Index, unit: Unit, origin: Origin) -> Match | None:
    """A message that is cut off, or that another release words a little differently."""
    best: Match | None = None
    small = unit.text.lower()
    for number in index.by_opening(unit.text[unit.begin : unit.end]):
        record = index.record(number)
        if not allowed(unit, record, origin.engine) or record.raised_by:
            continue
        parts = [p.lower() for p in record.parts]
        got = fit(parts, small, begin=unit.begin, end=len(small))
        if got is None and "\n" in small:
            got = fit_squeezed(parts, small, begin=unit.begin)
        if got is None or not got.opens or (record.pattern and got.whole):
            continue
        score = judge(unit, record, got, origin.number)
        if score is None:
            continue
        values = values_of(record, got, unit.text)
        if best is None or score > best.score:
            best = Match(
                unit, record, number, values, (got.start, got.end), score,
                whole=False, opens=True, placed=placed(unit, record),
            )  # fmt: skip
    return best


def older(matcher: "Matcher", unit: Unit, origin: Origin) -> Match | None:
    """A record that lacks the name that newer releases begin it with: `Watchdog timeout (...`."""
    if not unit.text.startswith(_HANGS, unit.begin + 1):
        return None
    # the name that is missing is a hole, and holes may be empty
    small = f" {unit.text[unit.begin].lower()}{unit.text[unit.begin + 1 : unit.end]}"
    for number in matcher.scan(small):
        record = matcher.index.record(number)
        got = fit(record.parts, small)
        if got is None or got.weight < _LEAST or not allowed(unit, record, origin.engine):
            continue
        shift = unit.begin - 1
        values = values_of(record, got, small)
        return Match(
            unit, record, number, values, (unit.begin, got.end + shift), float(got.weight),
            whole=got.whole, opens=True, placed=False,
        )  # fmt: skip
    return None
