"""Which recorded values are series, and how they are drawn and told."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from app.services.records import RunRecord
from app.services.series import MOST, is_series, plots_of
from app.web.plots import bars, line_plot, ticks

SVG = "{http://www.w3.org/2000/svg}"


def run(step: str, *, passed: bool = True, **values: Any) -> RunRecord:
    return RunRecord(
        id="r", entry_id="e", step=step, subject="sglang==1.0", passed=passed, values=values
    )


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3], [0.5, 1.5, -2], [[0, 1], [2, 3], [4, 5]], {"1": 2, "2": 4, "4": 8},
        {"x": [1, 2, 3], "error": [0.1, 0.2, 0.3]},
    ],
)  # fmt: skip
def test_lists_pairs_and_tables_of_numbers_are_series(value: Any) -> None:
    assert is_series(value)


@pytest.mark.parametrize(
    "value",
    [
        4, "abc", None, [1, 2], [True, False, True], ["a", "b", "c"], [1, None, 3],
        {"a": 1, "b": 2, "c": 3}, [1.0, float("nan"), 2.0], {"x": [1, 2, 3]}, {},
        {"x": [1, 2, 3], "y": [1, 2]}, [[1, 2], [3, 4], [5]],
    ],
)  # fmt: skip
def test_everything_else_is_a_single_value(value: Any) -> None:
    assert not is_series(value)


def test_the_same_name_in_trigger_and_fix_is_one_plot_with_two_lines() -> None:
    runs = [run("trigger", error=[1, 2, 4], rows=3), run("fix", error=[1, 1, 1], rows=4)]
    [plot] = plots_of(runs)
    assert [(line.name, line.kind) for line in plot.lines] == [
        ("trigger", "trigger"), ("fix", "fix"),
    ]  # fmt: skip
    assert plot.rows == [(0.0, [1.0, 1.0]), (1.0, [2.0, 1.0]), (2.0, [4.0, 1.0])]


def test_a_table_of_several_lines_keeps_their_names_and_axes() -> None:
    table = {"x": [1, 2, 4], "cpu": [3, 2, 1], "cuda": [1, 1, 1], "xLabel": "steps", "yLabel": "ms"}
    [plot] = plots_of([run("fix", times=table)])
    assert [line.name for line in plot.lines] == ["fix: cpu", "fix: cuda"]
    assert (plot.x_label, plot.y_label) == ("steps", "ms")


def test_a_run_that_did_not_pass_is_not_drawn_in_the_colours_of_one_that_did() -> None:
    [plot] = plots_of([run("fix", passed=False, error=[1, 2, 3])])
    assert plot.lines[0].kind == "other"


def test_a_long_series_is_thinned_out() -> None:
    [plot] = plots_of([run("fix", error=list(range(10 * MOST)))])
    assert len(plot.lines[0].points) == MOST


def test_a_plot_is_a_picture_with_a_name_and_no_style_of_its_own() -> None:
    [plot] = plots_of([run("trigger", **{"<b>": [5, 5, 5]}), run("fix", **{"<b>": [0, 1e9, 2]})])
    text = str(line_plot(plot))
    picture = ET.fromstring(text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    assert picture.get("role") == "img"
    assert (picture.get("aria-label") or "").startswith("<b>: trigger from 5 to 5; fix from 0 to 2")
    assert len(picture.findall(f"{SVG}polyline")) == 2
    assert "style" not in text
    numbers = re.findall(r"[\d.]+,[\d.]+", text)
    assert len(numbers) == 6
    assert all(0 <= float(n.split(",")[1]) <= 220 for n in numbers)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 7), (0.001, 0.0042), (1e6, 1.5e9), (5, 6)])
def test_the_ticks_of_an_axis_enclose_its_values_with_few_round_numbers(
    low: float, high: float
) -> None:
    found = ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    assert 3 <= len(found) <= 7


def test_bars_are_as_high_as_their_share_and_say_what_they_are() -> None:
    text = str(bars([1, 0, 2], "errors & more"))
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"', text)]
    assert heights == [27.0, 0.0, 54.0]
    assert 'aria-label="errors &amp; more"' in text
