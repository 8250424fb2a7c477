"""Checks in C++ and CUDA sources are read with their text, condition and function."""

from pathlib import Path

from app.scanner.finish import Finisher
from app.scanner.native import read_native
from app.scanner.records import ScannedSite
from tests.scanner.reading import split_files
from tests.scanner.test_forms import expected, said

SAMPLE = Path(__file__).parent / "samples" / "native.cuh_sample"


def read(text: str) -> list[ScannedSite]:
    finish = Finisher("sglang")
    sites = read_native("engine/a.cuh", text.encode(), finish)
    assert finish.failed == []
    return sites


def test_the_sample_has_exactly_the_checks_it_marks() -> None:
    (text,) = split_files(SAMPLE.read_text(encoding="utf-8")).values()
    assert [(s.line, said(s)) for s in read(text)] == expected(text)


def test_a_check_tells_its_condition_and_a_throw_the_if_before_it() -> None:
    (text,) = split_files(SAMPLE.read_text(encoding="utf-8")).values()
    nearest = {s.error_class: s.nearest for s in read(text)}
    assert nearest["static_assert"] == "check sizeof(T) == 4"
    assert nearest["TORCH_CHECK"] == "check n < 10"
    assert nearest["TVM_FFI_ICHECK_EQ"] == "check n == 3"
    assert nearest["runtime_error"] == "if n > 5"
    assert nearest["Panic"] == ""


def test_a_check_knows_its_function_and_its_last_line() -> None:
    (text,) = split_files(SAMPLE.read_text(encoding="utf-8")).values()
    (check,) = [s for s in read(text) if s.error_class == "TORCH_CHECK"]
    assert check.function == "run"
    assert (check.line, check.end_line) == (14, 17)


def test_unbalanced_brackets_and_endless_strings_end_nothing_but_their_own_check() -> None:
    text = 'RuntimeCheck(a > (b, "never closed"\n' + "x = 1;\n" * 9
    assert read(text) == []
    assert [s.template for s in read('#define S "\nTORCH_CHECK(a, "fine");\n')] == ["fine"]


def test_an_error_line_may_go_on_and_may_be_left_out_by_its_text() -> None:
    text = '#if A\n#error \\\n    "do not include"\n#endif\n#error GUARD of every header\n'
    (site,) = read_native("a.h", text.encode(), Finisher("torch"), skip=("GUARD",))
    assert (site.template, site.line, site.end_line) == ("do not include", 2, 3)
