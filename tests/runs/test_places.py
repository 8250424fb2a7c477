"""Where an entry is in a release, also where that release words it otherwise."""

import re
from pathlib import Path

import pytest

from app.runs.places import Wording, functions_in, places_in
from app.wheels import Wheel, open_wheel
from tests.wheels.making import make_wheel

NEW = """
class Args:
    def check(self):
        if self.topk not in (None, 1):
            raise ValueError(f"--enable-linear-replay requires a linear chain, got {self.topk}")
        if self.steps < 1:
            raise ValueError(f"--steps must be positive, got {self.steps}")
"""
OLD = """
class Args:
    def check(self):
        if self.steps < 1:
            raise ValueError(f"--steps must be positive, got {self.steps}")
        if self.topk not in (None, 1):
            raise ValueError(f"--enable-gdn-replay requires a linear chain, got {self.topk}")
"""
WORDING = Wording("ValueError", "--enable-linear-replay requires a linear chain, got {topk}", "")


def wheel(tmp_path: Path, version: str, files: dict[str, str]) -> Wheel:
    return open_wheel(make_wheel(tmp_path, files, package="toy", version=version))


def test_the_place_and_the_guards_own_line_are_read_out_of_the_wheel(tmp_path: Path) -> None:
    found = places_in(wheel(tmp_path, "2.0", {"toy/args.py": NEW}), WORDING)
    assert found.sites == (
        {"file": "toy/args.py", "function": "Args.check", "line": 5, "guardLines": [4]},
    )
    assert found.template.endswith("got {self.topk}")


def test_an_error_without_words_has_its_place_and_an_empty_message(tmp_path: Path) -> None:
    bare = wheel(tmp_path, "1.0", {"toy/f.py": "def f(a, b):\n    assert a == b\n"})
    found = places_in(bare, Wording("AssertionError", "", "", "assert a == b"))
    assert [(s["line"], s["guardLines"]) for s in found.sites] == [(2, [2])]
    assert (found.template, re.fullmatch(found.pattern, "")) != ("", None)
    assert re.fullmatch(found.pattern, "words") is None


def test_an_older_wording_is_found_through_a_neighbour(tmp_path: Path) -> None:
    old = wheel(tmp_path, "1.0", {"toy/args.py": OLD})
    new = wheel(tmp_path, "2.0", {"toy/args.py": NEW})
    found = places_in(old, WORDING, [new])
    assert found.template == "--enable-gdn-replay requires a linear chain, got {self.topk}"
    assert [(s["line"], s["guardLines"]) for s in found.sites] == [(7, [6])]


def test_a_newer_wording_is_found_through_a_neighbour(tmp_path: Path) -> None:
    old = wheel(tmp_path, "1.0", {"toy/args.py": OLD})
    new = wheel(tmp_path, "2.0", {"toy/args.py": NEW})
    was = Wording("ValueError", "--enable-gdn-replay requires a linear chain, got {topk}", "")
    assert places_in(new, was, [old]).sites[0]["line"] == 5


def test_a_release_without_the_error_has_no_place(tmp_path: Path) -> None:
    bare = wheel(tmp_path, "1.0", {"toy/args.py": "x = 1\n"})
    new = wheel(tmp_path, "2.0", {"toy/args.py": NEW})
    assert places_in(bare, WORDING, [new]).sites == ()


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def f(n):\n    assert n < 4, f'too many: {n}'\n", [2]),
        (
            "def f(n):\n    assert n\n    if n > 4:\n        raise ValueError(f'too many: {n}')\n",
            [3],
        ),
        ("def f(n):\n    raise ValueError(f'too many: {n}')\n", []),
    ],
)
def test_an_assertion_on_the_way_is_not_the_guard(
    tmp_path: Path, source: str, lines: list[int]
) -> None:
    error = "AssertionError" if "assert n <" in source else "ValueError"
    found = places_in(
        wheel(tmp_path, "1.0", {"toy/f.py": source}), Wording(error, "too many: {n}", "")
    )
    assert [s["guardLines"] for s in found.sites] == [lines]


def test_a_place_is_in_a_wheel_only_with_its_function(tmp_path: Path) -> None:
    source = "class A:\n    def f(self):\n        if self:\n            def g(): pass\n"
    wheel = make_wheel(tmp_path, {"pkg/a.py": source, "pkg/b.py": "def ("}, package="pkg")
    places = ["pkg/a.py::A.f", "pkg/a.py::A.f.g", "pkg/a.py::f", "pkg/b.py::f", "pkg/c.py::f"]
    assert functions_in(open_wheel(wheel), places) == places[:2]
