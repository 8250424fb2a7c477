"""A unit and the template it is a message of: the values in it, and matches by place alone."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from app.diagnosis.fit import Fit, fit, value, weight
from app.diagnosis.index import TemplateRecord
from app.diagnosis.judging import near, placed, same_source, tells
from app.diagnosis.units import Unit


@dataclass(slots=True)
class Match:
    """A unit, the template it is a message of, and the values in it."""

    unit: Unit
    record: TemplateRecord
    number: int
    values: dict[str, Any]
    span: tuple[int, int]
    """What of the unit's text the template covers."""
    score: float
    whole: bool
    opens: bool
    placed: bool
    """The traceback ends in the file and function of one of the template's places."""
    explainer: TemplateRecord | None = None
    """The explained entry of the library whose message this one passes on."""


def placed_match(
    unit: Unit, record: TemplateRecord, number: int, release: int | None
) -> Match | None:
    """The match of a unit with a record that is known by its place; None if it is none.

    Args:
        unit: what was raised, with its frames.
        record: the template.
        number: of the record.
        release: number of the log's release, if known.
    """
    here = placed(unit, record)
    source = unit.raised.frames[-1].source if unit.raised else ""
    close = near(unit, record, release) if here else 0.0
    wordless = weight(record.parts) == 0
    if not unit.message:
        known = same_source(record, source) if tells(source) else close > 0
        if record.kind == "raise" and here and (not source or source.startswith("raise")):
            known = True
        if not wordless or len(record.parts) > 1 or not known:
            return None
        score = 40.0 + 60.0 * here + 12.0 * close
        return Match(unit, record, number, {}, (0, 0), score, whole=True, opens=True, placed=here)
    if not here:
        return None
    got = fit(record.parts, unit.text, begin=unit.begin, end=unit.end)
    if got is not None and len(record.parts) > 1 and (got.opens or wordless):
        raises = source.startswith(("raise", "assert")) if source else close > 0
        if wordless and not raises:
            return None
        values = values_of(record, got, unit.text)
        return Match(
            unit,
            record,
            number,
            values,
            (got.start, got.end),
            30.0 + 12.0 * close,
            whole=got.whole,
            opens=True,
            placed=True,
        )
    return None


def values_of(record: TemplateRecord, got: Fit, text: str) -> dict[str, Any]:
    """The slices between the fixed parts, by the names of the holes."""
    slices = list(got.values)
    for i, (one, other) in enumerate(pairwise(record.holes)):
        a, b = slices[i + 1]
        digits = 0 <= a < b - 1 and text[a:b].isdigit() and not record.parts[i + 1]
        if digits and one.endswith(("major", "[0]")) and other.endswith(("minor", "[1]")):
            # `sm{major}{minor}`: of a version without a dot the last digit is the minor one
            slices[i], slices[i + 1] = (a, b - 1), (b - 1, b)
    return {
        name: value(text[a:b]) for name, (a, b) in zip(record.holes, slices, strict=True) if a >= 0
    }
