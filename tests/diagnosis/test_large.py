"""Logs of any size: the telling places are found, with their lines, in bounded memory."""

import gzip
import io
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from app.diagnosis.blocks import BLOCK, Block, FileSource, StreamSource
from app.diagnosis.diagnose import SMALL, diagnose, diagnose_path, diagnose_stream
from app.diagnosis.large import Surveyor
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Diagnosis
from app.diagnosis.windows import LOOKAHEAD
from app.exceptions import BadInputError
from tests.diagnosis.test_matcher import FULL, traceback

ORDINARY = "[2026-01-01 00:00:00 TP{rank}] Decode batch, #running-req: {n}, #token: {m}, queue: 0"
TRACE = traceback(
    "sglang/srt/pool.py",
    "place",
    120,
    "RuntimeError: No room for the batch.\nTried to place 9 tokens.\nfree=2",
)


@pytest.fixture(scope="module")
def big() -> tuple[bytes, dict[int, int], int]:
    """6 MB of ordinary lines; line → value of each planted message; the traceback's line."""
    rng = random.Random(7)
    lines: list[str] = []
    planted: dict[int, int] = {}
    size = 0
    while size < 6_000_000:
        lines.append(
            ORDINARY.format(rank=rng.randrange(4), n=rng.randrange(64), m=rng.randrange(99999))
        )
        if rng.random() < 0.002:
            n = rng.randrange(1, 9999)
            lines.append(
                f"[2026-01-01 00:00:01 TP0] ValueError: pool kv is full: {n} of 8 slots are taken"
            )
            planted[len(lines)] = n
        size += len(lines[-1]) + 1
    middle = len(lines) // 2
    moved = {at if at <= middle else at + TRACE.count("\n"): n for at, n in planted.items()}
    text = "\n".join([*lines[:middle], TRACE.rstrip("\n"), *lines[middle:]]) + "\n"
    return text.encode(), moved, middle + 1


def seen(answer: Diagnosis) -> dict[int, object]:
    found: dict[int, object] = {}
    for finding in answer.findings:
        if "n" in finding.params:
            found[finding.first_line] = finding.params["n"]
            found |= {o.line: o.params["n"] for o in finding.occurrences}
    return found


def check(answer: Diagnosis, big: tuple[bytes, dict[int, int], int]) -> None:
    data, planted, trace = big
    assert answer.lines == data.count(b"\n")
    pools = next(f for f in answer.findings if f.error_class == "ValueError")
    assert pools.count == len(planted)
    assert pools.last_line == max(planted)
    found = seen(answer)
    assert len(found) > 90
    assert all(planted[line] == n for line, n in found.items() if line != trace)
    place = next(f for f in answer.findings if f.error_class == "RuntimeError")
    assert (place.first_line, place.params["n"], place.frame is not None) == (trace, 9, True)


def test_a_large_file_is_read_at_its_telling_places(
    big: tuple[bytes, dict[int, int], int], engine: Matcher, tmp_path: Path
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(big[0])
    read: list[int] = []
    answer = diagnose_path(path, matcher=engine, progress=read.append)
    check(answer, big)
    assert max(read) == len(big[0])


@pytest.mark.parametrize("form", ["plain", "gzip", "zstd"])
def test_a_pipe_gives_the_same_answer(
    big: tuple[bytes, dict[int, int], int], engine: Matcher, form: str
) -> None:
    pack = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}
    check(diagnose_stream(io.BytesIO(pack[form](big[0])), matcher=engine), big)


def test_a_large_text_is_not_read_line_by_line(
    big: tuple[bytes, dict[int, int], int], engine: Matcher
) -> None:
    check(diagnose(big[0].decode(), matcher=engine), big)


@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_small_packed_logs_are_unpacked(engine: Matcher, tmp_path: Path, form: str) -> None:
    path = tmp_path / "log"
    pack = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}
    path.write_bytes(pack[form](f"ValueError: {FULL}\n".encode()))
    assert diagnose_path(path, matcher=engine).verdict == "known"


def test_a_damaged_packed_log_is_refused_in_a_sentence(engine: Matcher, tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"x" * 1000, mtime=0)[:-9])
    with pytest.raises(BadInputError, match="no whole gzip file"):
        diagnose_path(path, matcher=engine)


def test_a_file_that_is_not_there_is_named(engine: Matcher, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no\.log cannot be read"):
        diagnose_path(tmp_path / "no.log", matcher=engine)


def test_what_repeats_without_end_is_counted_not_read(engine: Matcher) -> None:
    line = f"[2026-01-01 00:00:01 TP0] ValueError: {FULL}\n"
    log = line * (SMALL // len(line) * 2)
    answer = diagnose(log, matcher=engine)
    (finding,) = answer.findings
    assert finding.count == log.count("\n")
    assert len(finding.occurrences) <= 100


def blocks(source: FileSource | StreamSource) -> Iterator[Block]:
    buffer = bytearray(BLOCK + LOOKAHEAD + 1)
    while (block := source.take(buffer)) is not None:
        yield block


@pytest.mark.parametrize("size", [17, 64, 1000])
def test_blocks_hold_every_line_once(tmp_path: Path, size: int) -> None:
    rng = random.Random(size)
    data = b"".join(b"x" * rng.randrange(60) + b"\n" for _ in range(400)) + b"no end"
    path = tmp_path / "log"
    path.write_bytes(data)
    with path.open("rb") as file:
        whole = sorted(
            (b.number, bytes(b.data[b.start : b.end]))
            for b in blocks(FileSource(file.fileno(), len(data), block=size))
        )
    assert b"".join(part for _, part in whole) == data
    streamed = [
        bytes(b.data[b.start : b.end]) for b in blocks(StreamSource(io.BytesIO(data), block=size))
    ]
    assert b"".join(streamed) == data


def test_any_number_of_workers_finds_the_same(
    big: tuple[bytes, dict[int, int], int], engine: Matcher, tmp_path: Path
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(big[0])
    found = []
    for workers in (1, 3):
        with path.open("rb") as file:
            survey = Surveyor(engine).run(FileSource(file.fileno(), len(big[0])), workers)
        found.append((survey.total, [(x.number, x.text) for x in survey.lines]))
    assert found[0][0] == found[1][0]
    assert len(found[0][1]) == len(found[1][1])


def test_threads_may_ask_at_once(engine: Matcher) -> None:
    log = f"ValueError: {FULL}\n" * 50
    verdicts: list[str] = []

    def ask() -> None:
        verdicts.extend(diagnose(log, matcher=engine).verdict for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == ["known"] * 80
