"""The reading of wheels under inputs that failed once, and under some seconds of new ones."""

import os
from pathlib import Path

import pytest

from tests.fuzz.driving import at_random
from tests.fuzz.wheel_reader import AS_IT_IS, NATIVE, SOURCE, inputs, seeds, target

SECONDS = float(os.environ.get("REPROBASE_FUZZ_SECONDS", "4"))
DEEP = b"x = " + b"(" * 5_000 + b")" * 5_000 + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        AS_IT_IS,
        AS_IT_IS + b"PK\5\6" + b"\0" * 18,
        SOURCE + b"\xff\xfe\0\0",
        SOURCE + b"# coding: nothing-like-it\nraise ValueError('x')\n",
        SOURCE + DEEP,
        SOURCE + b"raise ValueError(" + b"'x' + " * 3_000 + b"'y')\n",
        SOURCE + b"raise ValueError(f'{" * 200,
        NATIVE + b"TORCH_CHECK(" * 2_000,
        NATIVE + b'CHECK(x) << "' + b"\\" * 4_000,
    ],
)
def test_odd_wheels_give_sites_or_a_sentence(tmp_path: Path, data: bytes) -> None:
    target(tmp_path)(data)


def test_every_seed_is_read(tmp_path: Path) -> None:
    one = target(tmp_path)
    for data in seeds():
        one(data)


def test_some_seconds_of_mutated_wheels(tmp_path: Path) -> None:
    assert at_random(target(tmp_path), inputs(), SECONDS) > 10
