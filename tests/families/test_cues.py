"""Cues: what a template is turned into, and which cues can be left out without looking."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scanner.cues import CueIndex, fixed_pieces, normalise
from app.scanner.family_rules import RULES
from app.scanner.family_rules.rule import cues
from tests.families.test_classify import EXAMPLES

ALL_CUES = [cue for rule in RULES if rule.says for cue in cues(rule.says)]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("`Top_K` must be > 0, got {top_k}.", " top_k must be > 0 got {} "),
        ("Failed: {e}", " failed {error} "),
        ("{type(x).__name__} not allowed", " {type} not allowed "),
        ("got {x.dtype} and {y.shape!r}", " got {dtype} and {shape} "),
        ("{len(a)} != {len(b):d}", " {count} != {count} "),
        ("on {q.device}", " on {device} "),
        ("in [1, {n}) or {{a}}", " in [ 1 {} ) or a "),
        ("a != b! Really?", " a != b really "),
        ("called 'x'. Then: 'y'.", " called x then y "),
        ("  spread\n over\tlines ", " spread over lines "),
        ("", "  "),
    ],
)
def test_a_template_becomes_plain_words_and_telling_holes(template: str, text: str) -> None:
    assert normalise(template) == text


@pytest.mark.parametrize(
    ("cue", "pieces"),
    [
        ("deadline", ("deadline",)),
        (r"not (?:yet )?supported", ("supported",)),
        (r"tim(?:ed|e) ?out", ("tim",)),
        (r"(?:could not|cannot) find", ("cannot", "could not")),
        (r"(?:no|bad) luck", (" luck",)),
        (r"(?:left|right) ", ("left", "right")),
        (r"a.{0,3}bcd", ("bcd",)),
        (r"must be \[ \d", ("must be [ ",)),
        (r"colou?r{2}s", ("colo",)),
        (r"x(?! y)long", ("long",)),
        (r"(?<!y)long", ("long",)),
        (r"\bfile [abc]+ gone", ("file ",)),
    ],
)
def test_the_fixed_piece_of_a_cue_is_in_whatever_it_matches(
    cue: str, pieces: tuple[str, ...]
) -> None:
    assert fixed_pieces(cue) == pieces


@pytest.mark.parametrize("cue", [r"\d+", "(?:a|b)?", ".*", " "])
def test_a_cue_without_fixed_text_is_refused(cue: str) -> None:
    with pytest.raises(ValueError, match="no fixed text"):
        fixed_pieces(cue)


def test_no_cue_of_the_table_is_ruled_out_where_it_matches() -> None:
    texts = [normalise(template) for _, _, template, _, _ in EXAMPLES]
    texts += [f" {piece} {{}} " for cue in ALL_CUES for piece in fixed_pieces(cue)]
    index = CueIndex()
    bits = {re.compile(cue): index.add(cue) for cue in ALL_CUES}
    for text in texts:
        maybe = index.maybe(text)
        wrong = [c.pattern for c, bit in bits.items() if c.search(text) and not bit & maybe]
        assert wrong == [], text


@given(st.lists(st.sampled_from(ALL_CUES), min_size=1, max_size=5), st.text(max_size=60))
def test_an_index_finds_what_the_cues_find_one_by_one(chosen: list[str], noise: str) -> None:
    index = CueIndex()
    bits = 0
    for cue in chosen:
        bits |= index.add(cue)
    for piece in fixed_pieces(chosen[0]):
        text = f" {noise} {piece} {noise} "
        expected = any(re.search(cue, text) for cue in chosen)
        assert index.found(index.maybe(text) & bits, text) is expected
