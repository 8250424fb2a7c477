"""Which recorded values are buffers, and how they are drawn."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from app.services.buffers import buffers_of, is_buffers
from app.services.records import RunRecord
from app.web.buffer_picture import WIDTH, buffer_picture

ROW = {"name": "ids <b>", "size": 256, "places": 160, "given": 10, "fits": False}


def run(**values: Any) -> RunRecord:
    return RunRecord(id="r", entry_id="e", step="trigger", subject="sglang==1.0", values=values)


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        ({"buffers": [ROW]}, True),
        ({"buffers": [ROW, ROW | {"size": 16, "fits": True}]}, True),
        ({"buffers": []}, False),
        ({"buffers": [ROW | {"size": 0}]}, False),
        ({"buffers": [ROW | {"given": -1}]}, False),
        ({"buffers": [{"name": "ids"}]}, False),
        ({"buffers": 4}, False),
        ([ROW], False),
        (4, False),
    ],
)
def test_only_whole_rows_of_sizes_are_buffers(value: Any, *, drawn: bool) -> None:
    assert is_buffers(value) is drawn


def test_bars_are_as_long_as_their_sizes_and_say_what_does_not_fit() -> None:
    (found,) = buffers_of([run(graph={"buffers": [ROW, ROW | {"given": 160, "fits": True}]}, n=3)])
    assert (found.title, found.step, len(found.rows)) == ("graph", "trigger", 2)
    picture = ET.fromstring(str(buffer_picture(found)))
    widths = [(r.get("class"), round(float(r.get("width", 0)))) for r in picture.iter("rect")]
    whole, part = WIDTH - 2, round((WIDTH - 2) * 160 / 256)
    brought = round((WIDTH - 2) * 10 / 256)
    assert widths == [
        ("size", whole), ("places", part), ("misfit", brought),
        ("size", whole), ("places", part), ("fits", part),
    ]  # fmt: skip
    assert picture.get("aria-label") == (
        "graph, trigger: ids <b>: 10 into 160 of 256, does not fit; "
        "ids <b>: 160 into 160 of 256, fits."
    )
