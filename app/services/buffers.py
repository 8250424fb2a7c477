"""Recorded buffers and what was to be copied into them, as a picture and a table.

A run records them as `{"buffers": [{"name", "size", "places", "given", "fits"}, ...]}`: how many
elements a buffer has, how many of them the copy addresses, how many it brings, and whether the
copy went through.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from app.models import Public
from app.services.records import RunRecord


class Buffer(Public):
    """One buffer; all sizes in elements."""

    name: str
    size: int
    places: int
    given: int
    fits: bool


class Buffers(Public):
    """The buffers of one recorded value of one run."""

    title: str
    step: str
    rows: list[Buffer]


def is_buffers(value: Any) -> bool:
    """Whether a recorded value is drawn as buffers."""
    return bool(_rows_of(value))


def buffers_of(runs: Iterable[RunRecord]) -> list[Buffers]:
    """What some runs of an entry recorded of buffers, in the order of recording."""
    return [
        Buffers(title=name, step=run.step, rows=rows)
        for run in runs
        for name, value in run.values.items()
        if (rows := _rows_of(value))
    ]


def _rows_of(value: Any) -> list[Buffer]:
    rows = value.get("buffers") if isinstance(value, Mapping) else None
    if not isinstance(rows, list):
        return []
    try:
        found = [Buffer.model_validate(row) for row in rows]
    except ValidationError:
        return []
    sound = all(row.size > 0 and row.places >= 0 and row.given >= 0 for row in found)
    return found if sound else []
