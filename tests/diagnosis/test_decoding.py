"""Bytes of any coding: read as text, or refused in a sentence."""

import gzip
import io
import os
from pathlib import Path

import pytest

from app.diagnosis.diagnose import SMALL, diagnose, diagnose_path, diagnose_stream
from app.diagnosis.matcher import Matcher
from app.exceptions import BadInputError
from tests.diagnosis.test_matcher import FULL

TEXT = f"ValueError: {FULL}\n"
LARGE = "nothing of note happens here\n" * (SMALL // 25)


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("before", ["", LARGE], ids=["small", "large"])
def test_a_log_with_a_mark_is_read_in_its_coding(
    engine: Matcher, tmp_path: Path, coding: str, before: str
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes((before + TEXT).encode(coding))
    for answer in (
        diagnose_path(path, matcher=engine),
        diagnose_stream(io.BytesIO(path.read_bytes()), matcher=engine),
        diagnose_stream(io.BytesIO(gzip.compress(path.read_bytes())), matcher=engine),
    ):
        assert answer.verdict == "known"
        assert answer.lines == (before + TEXT).count("\n")


@pytest.mark.parametrize("size", [2_000, SMALL + 10], ids=["small", "large"])
def test_bytes_that_are_no_text_are_refused(engine: Matcher, tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"\x7fELF" + os.urandom(size))
    with pytest.raises(BadInputError, match="no text"):
        diagnose_path(path, matcher=engine)
    with pytest.raises(BadInputError, match="no text"):
        diagnose_stream(io.BytesIO(path.read_bytes()), matcher=engine)


def test_a_few_bytes_of_another_coding_do_not_make_a_log_unreadable(engine: Matcher) -> None:
    data = "Modèle chargé\n".encode("latin-1") * 3 + TEXT.encode()
    assert diagnose(data, matcher=engine).verdict == "known"


@pytest.mark.parametrize("empty", ["", "\n", "  \n\n", b""])
def test_of_an_empty_log_nothing_can_be_told(engine: Matcher, empty: str | bytes) -> None:
    answer = diagnose(empty, matcher=engine)
    assert answer.verdict == "incomplete"
    assert "empty" in answer.summary
    assert answer.missing


def test_lines_are_counted_as_an_editor_counts_them(engine: Matcher) -> None:
    assert [diagnose(t, matcher=engine).lines for t in ("a", "a\n", "a\nb", "a\nb\n")] == [
        1,
        1,
        2,
        2,
    ]
