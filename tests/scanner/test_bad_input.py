"""Files that are no plain Python are read as far as they can be, and listed."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.scanner.fstrings import exchange_inner_quotes
from tests.scanner.reading import read_files, sites_in

GOOD = 'def f(a):\n    if a:\n        raise ValueError("fine")\n'


def templates(text: str | bytes) -> tuple[list[str], str | None]:
    found = read_files({"engine/a.py": text})["engine/a.py"]
    return [s.template for s in found.sites], found.problem


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("\n", "\r").encode(),
        b"\x0c\n" + GOOD.encode(),
        ("# -*- coding: latin-1 -*-\nx = 'ä'\n" + GOOD).encode("latin-1"),
        ("x = '日本'\n" + GOOD).encode(),
        GOOD.rstrip("\n").encode(),
    ],
    ids=["bom", "crlf", "cr", "form-feed", "latin-1", "utf-8", "no-last-line-end"],
)
def test_what_python_reads_is_read_without_a_word(raw: bytes) -> None:
    assert templates(raw) == (["fine"], None)


def test_line_numbers_survive_foreign_line_ends() -> None:
    (site,) = sites_in(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert (site.line, site.end_line, site.guards[0].line) == (3, 3, 2)


def test_bytes_that_are_no_utf8_are_replaced_and_told() -> None:
    found, problem = templates(b"x = '\xff\xfe'\n" + GOOD.encode())
    assert found == ["fine"]
    assert problem == "not UTF-8 at line 1; the bytes there were replaced"


def test_null_bytes_and_utf16_are_told() -> None:
    assert templates(b"\0" + GOOD.encode())[1] == "holds null bytes"
    found, problem = templates(GOOD.encode("utf-16"))
    assert found == ["fine"]
    assert problem == "written in UTF-16, which Python does not read"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python parses it")
def test_fstrings_of_a_later_python_are_read_and_the_file_is_listed() -> None:
    newer = (
        'def g(a):\n    raise KeyError(f"{a["x"]} of {a["y"]:>{w["z"]}} is {{new}} \\"so\\"")\n\n\n'
    )
    found, problem = templates(GOOD + "\n\n" + newer + GOOD.replace("fine", "also fine"))
    assert found == [
        "fine",
        "{a['x']} of {a['y']:>{w['z']}} is {{new}} \"so\"",
        "also fine",
    ]
    assert problem is not None
    assert problem.startswith("line 7: ")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python parses it")
def test_syntax_of_a_later_python_costs_only_its_own_method() -> None:
    text = (
        "class C:\n"
        '    def f(self):\n        raise ValueError("before")\n\n'
        '    def g[T](self, a: T):\n        raise KeyError("generic")\n\n'
        '    def h(self):\n        raise ValueError("after")\n'
    )
    found, problem = templates(text)
    assert found == ["before", "after"]
    assert problem == "line 5: expected '('"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (b'f"{a["x"]}"', b"f\"{a['x']}\""),
        (b"f'{a['x']}' + 'y'", b"f'{a[\"x\"]}' + 'y'"),
        (b'f"{{a["', b'f"{{a["'),
        (b'f"""{a["x"]}"""', b'f"""{a["x"]}"""'),
        (b'# f"{a["x"]}"', b'# f"{a["x"]}"'),
        (b'"{a["x"]}"', b'"{a["x"]}"'),
        (b'rf"{d["k"]:>{w["n"]}}"', b"rf\"{d['k']:>{w['n']}}\""),
    ],
)
def test_only_quotes_inside_of_holes_are_exchanged(newer: bytes, older: bytes) -> None:
    assert exchange_inner_quotes(newer) == older


@pytest.mark.parametrize(
    "text",
    [
        "print 'python 2'\nraise ValueError, 'old'\n",
        "def f(:\n    raise ValueError('x')\n",
        "raise ValueError('" + "(" * 5000,
        "raise " + "(" * 300 + "1" + ")" * 300,
    ],
    ids=["python-2", "broken", "unclosed", "too-many-brackets"],
)
def test_what_is_no_python_is_listed_with_the_reason(text: str) -> None:
    found, problem = templates(text)
    assert found == []
    assert problem


def test_deeply_nested_code_is_listed_or_read_but_never_ends_the_scan() -> None:
    deep = "x = " + "-" * 5000 + "1\n"
    found, problem = templates(deep + "assert x, 'deep'\n")
    assert found == ["deep"] or problem
    chain = "raise ValueError(" + " + ".join(["'a'"] * 5000) + ")\n"
    found, problem = templates(chain)
    assert found or problem


def test_a_generated_file_of_ten_megabytes_is_read_in_seconds() -> None:
    rows = "".join(f"TABLE_{i} = [{i}, {i + 1}, 'row']\n" for i in range(300_000))
    assert len(rows) > 10_000_000
    found, problem = templates(rows + "\n\n" + GOOD)
    assert (found, problem) == (["fine"], None)


def test_an_empty_file_and_a_file_of_comments_have_no_sites() -> None:
    assert templates("") == ([], None)
    assert templates("# raise ValueError('no')\n") == ([], None)


def test_files_can_be_read_by_several_threads_at_once() -> None:
    deep = "x = " + "(" * 60 + "1" + ")" * 60 + "\n"
    text = "\n\n".join(f"{deep}def f{i}(a):\n    raise ValueError('n{i}')\n" for i in range(200))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: templates(text), range(40)))
    assert found == [([f"n{i}" for i in range(200)], None)] * 40
