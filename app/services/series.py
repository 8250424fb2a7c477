"""Recorded values that are series of numbers, as lines to be drawn and tables to be read.

A run records plain JSON under names of its own. These shapes are series, everything else is a
single value:

* a list of at least three numbers, drawn over 0, 1, 2, ...
* a list of at least three [x, y] pairs
* an object of at least three numbers whose keys are numbers
* an object {"x": [...], NAME: [...], ...} of lists of one length; `xLabel` and `yLabel` may name
  the axes

Series of one name in the trigger and in the fix are one plot with two lines.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from app.models import Public
from app.services.records import RunRecord

FEWEST: Final = 3
MOST: Final = 4_000
"""Points of a line that are drawn; a longer one is thinned out evenly."""
Points = list[tuple[float, float]]


class Line(Public):
    """One line of a plot."""

    name: str
    kind: str
    """trigger | fix | other: its colour."""
    points: list[tuple[float, float]]


class Plot(Public):
    """Lines over one axis."""

    title: str
    x_label: str
    y_label: str
    lines: list[Line]

    @property
    def rows(self) -> list[tuple[float, list[float | None]]]:
        """The same as a table: x, then each line's y."""
        at: list[dict[float, float]] = [dict(line.points) for line in self.lines]
        xs = sorted({x for by_x in at for x in by_x})
        return [(x, [by_x.get(x) for by_x in at]) for x in xs]


def is_series(value: Any) -> bool:
    """Whether a recorded value is drawn, and not shown as one line of text."""
    return bool(_lines_of(value))


def plots_of(runs: Iterable[RunRecord]) -> list[Plot]:
    """The plots of some runs of an entry: one for each name, in the order of recording."""
    plots: dict[str, Plot] = {}
    for run in runs:
        for name, value in run.values.items():
            for inner, points in _lines_of(value).items():
                labels = value if isinstance(value, Mapping) else {}
                plot = plots.setdefault(
                    name,
                    Plot(
                        title=name,
                        x_label=str(labels.get("xLabel", "")),
                        y_label=str(labels.get("yLabel", "")),
                        lines=[],
                    ),
                )
                shown = f"{run.step}: {inner}" if inner else run.step
                kind = run.step if run.passed and not inner else "other"
                plot.lines.append(Line(name=shown, kind=kind, points=_thinned(points)))
    return list(plots.values())


def _lines_of(value: Any) -> dict[str, Points]:
    """The lines of a value by their names (one nameless one for most shapes); none if no series."""
    if isinstance(value, list):
        points = _pairs(value) or _pairs(list(enumerate(value)))
        return {"": points} if points else {}
    if not isinstance(value, Mapping):
        return {}
    if isinstance(value.get("x"), list):
        lines = {
            str(name): _pairs(list(zip(value["x"], ys, strict=True)))
            for name, ys in value.items()
            if name != "x" and isinstance(ys, list) and len(ys) == len(value["x"])
        }
        return {name: points for name, points in lines.items() if points}
    try:
        points = _pairs(sorted((float(key), y) for key, y in value.items()))
    except (TypeError, ValueError):
        return {}
    return {"": points} if points else {}


def _pairs(items: list[Any]) -> Points:
    """The items as points, if all are pairs of finite numbers and there are enough of them."""
    if len(items) < FEWEST:
        return []
    found = []
    for item in items:
        if not isinstance(item, (list, tuple)) or len(item) != 2 or not all(map(_finite, item)):  # noqa: PLR2004  # a pair
            return []
        found.append((float(item[0]), float(item[1])))
    return found


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _thinned(points: Points) -> Points:
    step = -(-len(points) // MOST)
    return points[::step] if step > 1 else points
