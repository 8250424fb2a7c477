"""A large file searched by two processes, or sifted first, gives what one search gives."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.diagnosis import partner, sharing
from app.diagnosis.blocks import BLOCK, FileSource
from app.diagnosis.large import Surveyor
from app.diagnosis.literals import Hit, Literals
from app.diagnosis.matcher import Matcher
from app.diagnosis.sharing import survey_file
from app.diagnosis.sieve import fragments
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
    monkeypatch.setattr(partner, "processors", lambda: 2)


def whole(engine: Matcher, log: Path) -> tuple[list[tuple[int, str]], int, int]:
    with log.open("rb", buffering=0) as file:
        found = Surveyor(engine).run(FileSource(file.fileno(), log.stat().st_size), 1)
    return [(x.number, x.text) for x in found.lines], found.total, found.bytes


@pytest.mark.usefixtures("alone")
def test_both_together_find_the_whole(engine: Matcher, log: Path) -> None:
    said: list[int] = []
    with log.open("rb", buffering=0) as file:
        size = log.stat().st_size
        assert size > 8 * BLOCK
        found = survey_file(engine, file.fileno(), size, said.append)
    assert ([(x.number, x.text) for x in found.lines], found.total, found.bytes) == whole(
        engine, log
    )
    assert sum(FULL in x.text for x in found.lines) == 14
    assert said[-1] == max(said) == size
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.usefixtures("alone")
def test_a_child_that_dies_costs_no_answer(
    engine: Matcher, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_told", lambda *_: os._exit(1))
    with log.open("rb", buffering=0) as file:
        found = survey_file(engine, file.fileno(), log.stat().st_size)
    assert ([(x.number, x.text) for x in found.lines], found.total, found.bytes) == whole(
        engine, log
    )


@pytest.mark.usefixtures("alone")
def test_more_blocks_than_turns_are_all_taken(
    engine: Matcher, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "_MOST_TURNS", 3)
    with log.open("rb", buffering=0) as file:
        found = survey_file(engine, file.fileno(), log.stat().st_size)
    assert ([(x.number, x.text) for x in found.lines], found.total, found.bytes) == whole(
        engine, log
    )


def test_the_other_process_leaves_the_processor_of_this_one() -> None:
    here = os.sched_getaffinity(0)
    if len(here) == 1:
        pytest.skip("one processor")
    with partner.Partner(lambda: sorted(os.sched_getaffinity(0))) as other:
        told = other.told()
    assert len(told) == len(here) - 1
    assert set(told) < here
    assert os.sched_getaffinity(0) == here


def test_every_string_holds_a_fragment_and_few_are_needed(engine: Matcher) -> None:
    strings = engine.index.literals()
    chosen = fragments(strings)
    assert all(any(fragment in text for fragment in chosen) for text in strings)
    assert len(chosen) < len(strings)
    assert fragments([b"x", b"abcdefgh"]) == [b"abcdefgh", b"x"]


words = st.sampled_from(
    [b"must be ", b"divisible by", b"heads (", b"\n", b" ", b"is not a multiple", b"Error: ", b"e"]
)


@given(st.lists(words, max_size=400), st.integers(1, 64))
@settings(max_examples=60, deadline=None)
def test_sifting_finds_what_scanning_finds(parts: list[bytes], spread: int) -> None:
    strings = [b"must be divisible by", b"divisible by", b"heads (e", b"Error: ", b"e must be ee"]
    literals = Literals(
        lambda: strings, sieve=Literals(lambda: fragments(strings)).dump(), longest=20
    )
    data = memoryview((b"." * 97 * spread).join(parts))
    scanner = literals.scanner()
    assert scanner.sift(data) == scanner.scan(data)


def test_text_full_of_fragments_is_not_sifted_for_long(engine: Matcher) -> None:
    line = b"this must be divisible by that, or it is not supported\n"
    scanner = engine.literals.scanner()
    data = memoryview(line * 5_000)
    expected = scanner.scan(data)
    assert [scanner.sift(data) for _ in range(20)] == [expected] * 20
    assert all(isinstance(hit, Hit) for hit in expected)


@pytest.mark.parametrize("more", [0, 1, 10, 100, 40_000, BLOCK // 2])
def test_how_a_log_ended_is_read_also_where_the_last_block_is_short(
    engine: Matcher, tmp_path: Path, more: int
) -> None:
    path = tmp_path / "server.log"
    text = (LINE * (2 * BLOCK // len(LINE) + 1))[: 2 * BLOCK + more - 7] + "\nKilled"
    path.write_text(text)
    with path.open("rb", buffering=0) as file:
        found = Surveyor(engine).run(FileSource(file.fileno(), len(text)), 1)
    assert found.bytes == len(text)
    assert found.lines[-1].text == "Killed"
    assert sum("Decode batch" in x.text for x in found.lines) > 100


@pytest.mark.usefixtures("alone")
def test_without_a_second_process_one_reads_it_all(
    engine: Matcher, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", none)
    with log.open("rb", buffering=0) as file:
        found = survey_file(engine, file.fileno(), log.stat().st_size)
    assert [(x.number, x.text) for x in found.lines] == whole(engine, log)[0]
