"""One function cut out of a file: true lines, what it needs, and what it is not given."""

import traceback
from pathlib import Path

import pytest

from reproducers.upstream.slicing import FileSlice

SOURCE = '''
from __future__ import annotations

import math
from nowhere import Thing

LIMIT = 4


def helper(n: Thing) -> int:
    return math.floor(n) + LIMIT


class Server:
    size: int = 3

    def start(self, n):
        """Raises for too many."""
        if helper(n) > 8:
            raise ValueError(f"too many: {n}")
        return helper(n)


if LIMIT:

    def late():
        return Thing()
'''


@pytest.fixture
def piece(tmp_path: Path) -> FileSlice:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "engine.py").write_text(SOURCE)
    return FileSlice(tmp_path, "toy/engine.py")


def test_a_function_comes_with_what_it_needs_of_its_file(piece: FileSlice) -> None:
    assert piece.cut("helper")(2.5) == 6


def test_a_method_comes_as_a_function(piece: FileSlice) -> None:
    assert piece.cut("Server.start")(None, 3) == 7


def test_a_class_comes_whole(piece: FileSlice) -> None:
    assert piece.cut("Server")().start(1) == 5


def test_its_lines_are_those_of_the_file(piece: FileSlice, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too many: 5") as caught:
        piece.cut("Server.start")(None, 5)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == str(tmp_path / "toy" / "engine.py")
    assert SOURCE.splitlines()[(last.lineno or 0) - 1].strip().startswith("raise ValueError")


def test_given_names_come_before_those_of_the_file(piece: FileSlice) -> None:
    assert piece.cut("helper", LIMIT=40)(1) == 41


def test_a_definition_under_a_condition_is_found(piece: FileSlice) -> None:
    assert piece.cut("late", Thing=lambda: "given")() == "given"


def test_what_is_neither_in_the_file_nor_given_is_named(piece: FileSlice, tmp_path: Path) -> None:
    (tmp_path / "toy" / "engine.py").write_text("def f():\n    return a + b + len('')\n")
    with pytest.raises(LookupError, match="f needs to be given: a, b"):
        FileSlice(tmp_path, "toy/engine.py").cut("f")
    with pytest.raises(LookupError, match=r"engine.py defines no 'Server.stop'"):
        piece.cut("Server.stop")
