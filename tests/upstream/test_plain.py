"""Values of engine code become JSON that says the same and stays short."""

import enum
import json
import math

import numpy as np
import pytest

from reproducers.upstream.plain import plain


class Mode(enum.Enum):
    DECODE = 1


class Width(enum.IntEnum):
    TWO = 2


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        (math.inf, "inf"),
        ("x" * 5000, "x" * 2000),
        (Mode.DECODE, "DECODE"),
        (Width.TWO, "TWO"),
        ((1, [2, {3}]), [1, [2, [3]]]),
        ({1: Mode.DECODE}, {"1": "DECODE"}),
        (range(100), list(range(64))),
        (ValueError("no"), "ValueError: no"),
        (Mode, "Mode"),
        (Rude(), "<Rude whose repr raised RuntimeError>"),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (np.zeros((3, 100)), "ndarray[3, 100] float64"),
        (np.float32(0.5), 0.5),
    ],
)
def test_a_value_is_said_in_json(value: object, said: object) -> None:
    assert plain(value) == said
    json.dumps(plain(value), allow_nan=False)


def test_nesting_without_end_is_cut() -> None:
    deep: list[object] = []
    deep.append(deep)
    json.dumps(plain(deep))
