"""What is found, in which order, and that no query is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.search import Filters, SearchIndex
from tests.search.catalog import documents

INDEX = SearchIndex.build(documents())
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: '


def ids(text: str, filters: Filters | None = None, **paging: int) -> list[str]:
    return [hit.id for hit in INDEX.search(text, filters, **paging).hits]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("scratch steps", "a1"),
        ("kda", "a1"),
        ("RuntimeError kda", "a1"),
        ("draft_token_num", "a1"),
        ("FlashInferKDAKernel", "a1"),
        ("kernel target_verify", "a1"),
        ("kda_flashinfer.py", "a1"),
        ("capacity-exceeded", "a1"),
        ("misspelt", "a2"),
        ("torch memory", "b1"),
        ("num_experts", "a5"),
        ("moe gate", "a5"),
        ("UNKNOWN Phase", "a2"),
    ],
)
def test_an_entry_is_found_by_anything_that_is_known_of_it(text: str, first: str) -> None:
    assert ids(text)[0] == first


def test_the_last_word_is_found_while_it_is_typed_and_no_longer_after_a_space() -> None:
    for typed in ("k", "kd", "kda veri", "scratch ste"):
        assert "a1" in ids(typed)
    assert ids("scratch ste ") != ids("scratch ste")
    assert INDEX.search("scr").hits[0].way == "words"


@pytest.mark.parametrize(
    "typo", ["scrtch steps", "scratchh steps", "scratxh steps", "scartch steps", "knda scratch"]
)
def test_one_letter_missing_added_wrong_or_swapped_is_forgiven(typo: str) -> None:
    found = INDEX.search(typo)
    assert found.hits[0].id == "a1"
    assert found.hits[0].way == "typo"


def test_words_as_they_are_come_before_words_with_a_typo() -> None:
    assert set(ids("scratch")) == {"a1", "a6"}
    found = INDEX.search("state")  # `same`, `gate` and the like are one letter away
    ways = [hit.way for hit in found.hits]
    assert ways == sorted(ways, key=["words", "typo"].index)


def test_more_than_half_of_the_words_are_enough_where_all_are_nowhere_together() -> None:
    found = INDEX.search("kda scratch steps zebra ")
    assert [hit.id for hit in found.hits] == ["a1"]
    assert found.hits[0].way == "some-words"


@pytest.mark.parametrize(
    "pasted",
    [
        "KDA verify needs 16 scratch steps, but intermediate_ssm only has 2.",
        "RuntimeError: KDA verify needs 16 scratch steps, but intermediate_ssm only has 2.",
        "[TP0] KDA verify needs 16 scratch\nsteps, but intermediate_ssm\nonly has 2.",
        TRACEBACK + "KDA verify needs 16 scratch steps, but intermediate_ssm only has 2.\n",
        "KDA verify needs {draft_token_num} scratch steps, but intermediate_ssm only has {x}.",
    ],
)
def test_a_pasted_message_finds_its_entry_first(pasted: str) -> None:
    found = INDEX.search(pasted)
    assert found.hits[0].id == "a1"
    assert found.hits[0].way == "message"


def test_of_two_templates_that_fit_a_message_the_one_that_says_more_comes_first() -> None:
    text = "ValueError: --speculative-draft-window-size must be positive, got -3."
    assert ids(text)[0] == "a4"


def test_common_words_are_no_message() -> None:
    assert INDEX.search("memory").hits[0].way == "words"


@pytest.mark.parametrize(
    "key", ["unknown-speculative-phase", "6d46981c2eb2f8c3", "A2", " a2 ", "6D46981C2EB2F8C3"]
)
def test_an_id_a_slug_and_an_alias_find_their_entry_first(key: str) -> None:
    assert ids(key)[0] == "a2"
    assert INDEX.search(key).hits[0].way == "key"


def test_explained_entries_come_first_without_words() -> None:
    found = INDEX.search("")
    assert found.total == len(documents())
    assert found.hits[0].way == "all"
    assert [hit.id for hit in found.hits] == [d.id for d in documents()]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(package="torch"), {"b1"}),
        (Filters(error_class="ValueError"), {"a2", "a3", "a4"}),
        (Filters(family="out-of-range"), {"a3", "a4"}),
        (Filters(release="sglang==0.5.22"), {"a1", "a4"}),
        (Filters(release="sglang==0.5.23", status="new"), {"a3"}),
        (Filters(release="sglang==0.5.23", status="moved"), {"a1"}),
        (Filters(release="sglang==0.5.23", status="gone"), {"a4"}),
        (Filters(status="explained"), {"a2"}),
        (Filters(ids=["a1", "b1"]), {"a1", "b1"}),
        (Filters(ids=[]), set()),
        (Filters(package="sglang", family="out-of-memory"), set()),
        (Filters(package="no such package"), set()),
    ],
)
def test_filters_hold_with_and_without_words(filters: Filters, expected: set[str]) -> None:
    assert set(ids("", filters)) == expected
    for text in (
        "phase",
        "kda",
        "KDA verify needs 1 scratch steps, but intermediate_ssm only has 2.",
    ):
        assert set(ids(text, filters)) <= expected


def test_a_gone_entry_is_not_in_the_release_that_lost_it() -> None:
    assert "a4" not in ids("", Filters(release="sglang==0.5.23"))


def test_pages_follow_each_other_without_gap_or_repetition() -> None:
    whole = ids("must be positive", limit=10)
    parts = [ids("must be positive", limit=1, offset=i)[0] for i in range(len(whole))]
    assert parts == whole
    assert INDEX.search("must be positive", limit=1).total == len(whole)
    assert ids("", offset=1000) == []


@pytest.mark.parametrize(
    "text",
    [
        '"', "*", "\\", "()", "a:b^2 [x TO y] (", "+-!(){}[]^~*?:\\/", "AND OR NOT", "id:a1",
        "'; DROP TABLE entry; --", "\0", "\ud800", "é" * 5_000, "x" * 100_000, "a " * 50_000,
        "%s %d {} {0}", "../../etc/passwd", "\u202e", "\n\n\n", "SELECT * FROM entry", ".*.*.*",
    ],
)  # fmt: skip
def test_no_query_is_wrong(text: str) -> None:
    found = INDEX.search(text)
    assert len(found.hits) <= min(found.total, 20)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_gets_an_answer(text: str) -> None:
    assert INDEX.search(text, Filters(package=text)).total >= 0


def test_nothing_is_found_for_what_is_not_there() -> None:
    assert ids("zzzzzzzz ") == []
    assert INDEX.search("zzzzzzzz").total == 0
