"""A large file searched by two processes gives what one gives."""

import os
from pathlib import Path

import pytest

from app.diagnosis import halves
from app.diagnosis.halves import survey_file
from app.diagnosis.large import BLOCK, FileSource, Surveyor
from app.diagnosis.matcher import Matcher
from tests.diagnosis.test_matcher import FULL

LINE = "[2026-08-30 11:12:13 TP0] Decode batch, #running-req: 12, token usage: 0.40\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """40 MB, errors every 3 MB and on both sides of the middle."""
    path = tmp_path / "server.log"
    block = LINE * (3_000_000 // len(LINE))
    with path.open("w") as out:
        for i in range(14):
            out.write(block)
            out.write(f"[2026-08-30 11:12:{i:02} TP{i % 4}] ValueError: {FULL}\n")
        out.write("the end, without a line break")
    return path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests may have left threads behind; here none of them computes."""
    monkeypatch.setattr("threading.active_count", lambda: 1)
    monkeypatch.setattr(halves, "processors", lambda: 2)


def whole(engine: Matcher, log: Path) -> tuple[list[tuple[int, str]], int, int]:
    with log.open("rb", buffering=0) as file:
        found = Surveyor(engine).run(FileSource(file.fileno(), log.stat().st_size), 1)
    return [(x.number, x.text) for x in found.lines], found.total, found.bytes


@pytest.mark.usefixtures("alone")
def test_both_halves_together_are_the_whole(engine: Matcher, log: Path) -> None:
    said: list[int] = []
    with log.open("rb", buffering=0) as file:
        size = log.stat().st_size
        assert size > 8 * BLOCK
        found = survey_file(engine, file.fileno(), size, said.append)
    assert ([(x.number, x.text) for x in found.lines], found.total, found.bytes) == whole(
        engine, log
    )
    assert sum(FULL in x.text for x in found.lines) == 14
    assert 0.9 * size < max(said) < 1.1 * size
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.usefixtures("alone")
def test_a_child_that_dies_costs_no_answer(
    engine: Matcher, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halves, "_work", lambda *_: os._exit(1))
    with log.open("rb", buffering=0) as file:
        found = survey_file(engine, file.fileno(), log.stat().st_size)
    assert ([(x.number, x.text) for x in found.lines], found.total, found.bytes) == whole(
        engine, log
    )
