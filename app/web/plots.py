"""Series as SVG: lines with axes, and small bars; shapes and classes, no style of their own."""

import math
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

from app.services.series import Plot

WIDTH, HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 10, 34
_TICKS: Final = 4
BAR_WIDTH, BAR_HEIGHT = 240, 56


def line_plot(plot: Plot) -> Markup:
    """A plot as one SVG picture with its name for those who do not see it."""
    points = [point for line in plot.lines for point in line.points]
    x_low, x_high = _span([x for x, _ in points])
    y_ticks = ticks(*_span([y for _, y in points]))
    x_ticks = [t for t in ticks(x_low, x_high) if x_low <= t <= x_high]
    y_low, y_high = y_ticks[0], y_ticks[-1]

    def at_x(x: float) -> float:
        return _LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - _LEFT - _RIGHT)

    def at_y(y: float) -> float:
        return HEIGHT - _BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - _TOP - _BOTTOM)

    out = [_opening("plot", WIDTH, HEIGHT, _said(plot))]
    for y in y_ticks:
        here = at_y(y)
        out.append(f'<path class="grid" d="M{_LEFT} {here:.1f}H{WIDTH - _RIGHT}"/>')
        out.append(f'<text class="y" x="{_LEFT - 6}" y="{here + 4:.1f}">{number(y)}</text>')
    for x in x_ticks:
        here = at_x(x)
        out.append(f'<text class="x" x="{here:.1f}" y="{HEIGHT - _BOTTOM + 16}">{number(x)}</text>')
    if plot.x_label:
        middle = (WIDTH + _LEFT - _RIGHT) / 2
        out.append(
            f'<text class="x" x="{middle:.0f}" y="{HEIGHT - 3}">{escape(plot.x_label)}</text>'
        )
    for index, line in enumerate(plot.lines):
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in line.points)
        kind = line.kind if line.kind != "other" else f"other n{index % 4}"
        out.append(f'<polyline class="{kind}" points="{path}"/>')
    out.append("</svg>")
    return Markup("".join(out))  # noqa: S704  # numbers, and text that was escaped


def bars(counts: Sequence[int], label: str, top: int | None = None) -> Markup:
    """A row of bars, one a release, as high as their share of the largest.

    Args:
        counts: one number a bar.
        label: what they are, for those who do not see them.
        top: the number at full height; the largest of `counts` if None.
    """
    largest = max(top or 0, *counts, 1)
    step = BAR_WIDTH / max(len(counts), 1)
    width = step * 0.86
    out = [_opening("bars", BAR_WIDTH, BAR_HEIGHT, label)]
    for index, count in enumerate(counts):
        height = max(count / largest * (BAR_HEIGHT - 2), 1.5 if count else 0)
        kind = ' class="last"' if index == len(counts) - 1 else ""
        out.append(
            f'<rect{kind} x="{index * step:.1f}" y="{BAR_HEIGHT - height:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}"/>'
        )
    out.append("</svg>")
    return Markup("".join(out))  # noqa: S704  # numbers, and text that was escaped


def ticks(low: float, high: float) -> list[float]:
    """Round numbers that enclose an interval, about five of them."""
    raw = (high - low) / _TICKS
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * n for n in (1, 2, 2.5, 5, 10) if size * n >= raw * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def number(value: float) -> str:
    """A number of an axis or of a table, short."""
    if value == int(value) and abs(value) < 1e6:  # noqa: PLR2004  # as many digits as fit
        return f"{int(value)}"
    return f"{value:.4g}"


def _opening(kind: str, width: int, height: int, label: str) -> str:
    stretch = ' preserveAspectRatio="none"' if kind == "bars" else ""
    box = f'viewBox="0 0 {width} {height}"{stretch}'
    return f'<svg class="{kind}" {box} role="img" aria-label="{escape(label)}">'


def _span(values: list[float]) -> tuple[float, float]:
    """The smallest and the largest; never one and the same."""
    low, high = min(values), max(values)
    if low == high:
        pad = abs(low) / 2 or 0.5
        return low - pad, high + pad
    return low, high


def _said(plot: Plot) -> str:
    lines = "; ".join(
        f"{line.name} from {number(line.points[0][1])} to {number(line.points[-1][1])}"
        for line in plot.lines
    )
    return f"{plot.title}: {lines}. The table below has the numbers."
