"""The ordered search: values are the slices between the fixed parts."""

import time

from hypothesis import given
from hypothesis import strategies as st

from app.diagnosis.fit import fit, fit_squeezed, squeeze, value

PARTS = ["KDA verify needs ", " scratch steps, but intermediate_ssm only has ", "."]
WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)


def values(text: str, parts: list[str] = PARTS) -> list[str] | None:
    got = fit(parts, text)
    return [text[a:b] for a, b in got.values] if got else None


def test_the_slices_between_the_parts_are_the_values() -> None:
    assert values("KDA verify needs 16 scratch steps, but intermediate_ssm only has 8.") == [
        "16",
        "8",
    ]


def test_a_message_inside_a_sentence_is_found_behind_a_quote_only() -> None:
    message = "KDA verify needs 16 scratch steps, but intermediate_ssm only has 8."
    got = fit(PARTS, f"it says: {message} why?")
    assert got is not None
    assert (got.opens, got.closes, got.whole) == (False, False, True)
    assert fit(["is full"], "nothis full of it") is None


def test_a_message_that_was_cut_is_told_from_a_whole_one() -> None:
    got = fit(PARTS, "KDA verify needs 16 scratch steps, but interm")
    assert got is not None
    assert not got.whole
    assert got.values == ((17, 19), (-1, -1))


def test_too_little_of_a_message_is_none() -> None:
    assert fit(PARTS, "KDA verify needs 16") is None


def test_the_last_part_is_looked_for_at_the_end_first() -> None:
    assert values("path a.b.c.", ["path ", "."]) == ["a.b.c"]


def test_white_space_that_a_terminal_changed_does_not_matter() -> None:
    text = "KDA verify nee\nds 16 scratch steps, but\n   intermediate_ssm only has 8."
    got = fit_squeezed(PARTS, text)
    assert got is not None
    assert [text[a:b] for a, b in got.values] == ["16", "8"]


def test_values_become_what_they_were_printed_from() -> None:
    assert [
        value(x) for x in ("3", "-1.5", "True", "None", "'a b'", "2170015846053279415", "x 3")
    ] == [
        3,
        -1.5,
        True,
        None,
        "a b",
        2170015846053279415,
        "x 3",
    ]


@given(st.lists(WORDS, min_size=2, max_size=5), st.data())
def test_every_message_made_from_a_template_gives_its_values_back(
    parts: list[str], data: st.DataObject
) -> None:
    fixed = [f"<{p}>" for p in parts]
    filled = [data.draw(WORDS) for _ in fixed[1:]]
    text = fixed[0] + "".join(v + p for v, p in zip(filled, fixed[1:], strict=True))
    assert values(text, fixed) == filled


@given(st.text(max_size=200))
def test_squeezing_keeps_where_each_character_stood(text: str) -> None:
    dense, where = squeeze(text)
    assert dense == "".join(text[i] for i in where)


def test_a_hostile_line_costs_nothing() -> None:
    hostile = "a" * 2_000
    parts = ["a", "aa", "aaa", "b"]
    started = time.perf_counter()
    for _ in range(100):
        fit(parts, hostile)
    assert (time.perf_counter() - started) / 100 < 0.002
