"""Templates, their string form and their patterns."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scanner.selftest import self_test
from app.scanner.templates import (
    Hole,
    has_words,
    longest_literal,
    parse,
    pattern,
    render,
    sample,
    skeleton,
)
from app.scanner.variants import merge

EXPRESSIONS = (
    "x",
    "self.a.b[0]",
    "', '.join(names)",
    "{1: 2}[x]",
    "{k: v for k, v in z}",
    "f'{x!r:>{w}} }} {{'",
    "a != b",
    "x[1:2]",
    "(lambda: x)",
    '"}"',
    "d['it\\'s']",
)
FORMATS = ("", "d", ".2f", ">10", ",", "08x", "{width}", "%Y-%m", ".1%", "*^7d", "+.3e")
holes = st.builds(
    Hole,
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(("", "r", "s", "a")),
    st.sampled_from(FORMATS),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
templates = st.lists(st.one_of(texts, holes), max_size=8).map(merge)


@given(templates)
def test_a_template_written_and_read_again_is_the_same(parts: list[str | Hole]) -> None:
    assert parse(render(parts)) == parts


@given(templates)
def test_a_message_made_from_a_template_matches_its_pattern(parts: list[str | Hole]) -> None:
    regex = pattern(parts)
    assert self_test(parts, regex)
    match = re.fullmatch(regex, sample(parts))
    assert match
    assert match.re.groups == sum(isinstance(p, Hole) for p in parts)


@given(templates, st.data())
def test_the_test_of_a_pattern_agrees_with_python_on_damaged_patterns(
    parts: list[str | Hole], data: st.DataObject
) -> None:
    regex = pattern(parts)
    at = data.draw(st.integers(0, len(regex)))
    char = data.draw(st.sampled_from([*r"\()[]{}.*+?^$|s ax7\"'", "\n", ""]))
    damaged = regex[:at] + char + regex[at + data.draw(st.integers(0, 1)) :]
    try:
        match = re.fullmatch(damaged, sample(parts))
        holes = sum(isinstance(p, Hole) for p in parts)
        truth = match is not None and match.re.groups == holes
    except re.error:
        truth = False
    if self_test(parts, damaged):
        assert truth  # it may be stricter than Python, never laxer


@given(st.lists(texts, min_size=2, max_size=5), st.lists(st.integers(0, 10**6), min_size=4))
def test_numbers_and_words_put_into_the_holes_match_and_come_out_again(
    words: list[str], values: list[int]
) -> None:
    words = [f"word{w}end" for w in words]
    parts: list[str | Hole] = [words[0]]
    message = words[0]
    for word, value in zip(words[1:], values, strict=False):
        parts += [Hole("n", "", "d"), word]
        message += f"{value:d}{word}"
    found = re.fullmatch(pattern(parts), message)
    assert found
    assert [int(g) for g in found.groups()] == values[: len(words) - 1]


@given(st.integers(-(10**9), 10**9) | st.floats(), st.sampled_from(FORMATS))
def test_what_python_formats_into_a_hole_matches(value: float, spec: str) -> None:
    try:
        text = format(value, spec.replace("{width}", "12"))
    except ValueError:
        return  # Python refuses this format for this number
    assert re.fullmatch(pattern(["n is ", Hole("n", "", spec), "!"]), f"n is {text}!")


@given(templates)
def test_another_message_does_not_match(parts: list[str | Hole]) -> None:
    if has_words(parts):
        assert not re.fullmatch(pattern(parts), "")


def test_braces_of_the_message_are_not_holes() -> None:
    assert skeleton("a {{}} b") == "a {{}} b"
    assert skeleton("a {x} b") == "a {} b"
    assert pattern(parse("a {{x}} {y}")) == r"a \{x\} ([\s\S]*?)"


@pytest.mark.parametrize("wrong", ["a } b", "a {x", "{x!r", "{'", "}"])
def test_a_brace_out_of_place_is_an_error(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"closed|single"):
        parse(wrong)


def test_line_breaks_and_runs_of_spaces_match_any_white_space() -> None:
    regex = pattern(["\n  two  words of\n{x} ".replace("{x}", ""), Hole("x"), "\n"])
    assert re.fullmatch(regex, "two words of 7")
    assert re.fullmatch(regex, "\n  two\n words of\n7\n")
    assert not re.fullmatch(regex, "twowords of 7")


def test_a_key_error_is_recognised_with_the_quotes_that_python_puts_around_it() -> None:
    regex = pattern(["no key ", Hole("k")], quoted=True)
    assert re.fullmatch(regex, str(KeyError("no key a")))
    assert re.fullmatch(regex, "no key a")


def test_two_holes_side_by_side_are_matched_in_linear_time() -> None:
    parts = [Hole("a")] * 12 + ["!"]
    assert not re.fullmatch(pattern(parts), "x" * 20_000)


def test_white_space_is_folded_and_the_longest_part_found() -> None:
    assert skeleton(" a\n  {x}  b ") == "a {} b"
    assert longest_literal("short {x} rather long {y} end") == " rather long "
    assert sample(["a ", Hole("n", "", "d")]) == "a 17"
