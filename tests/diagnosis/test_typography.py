"""What chat programs, wikis and word processors do to a message does not hide it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.diagnosis.diagnose import diagnose
from app.diagnosis.index import Index
from app.diagnosis.lines import clean
from app.diagnosis.matcher import Matcher
from app.diagnosis.typography import folded, folded_with_cuts
from app.loading.index import ReleaseSites, build
from tests.diagnosis.engines import Site
from tests.diagnosis.test_matcher import FULL

SPACES = "\u00a0\u202f\u2007\u2009\u3000\u2003"
NOTHING = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u200e"


@pytest.mark.parametrize("space", SPACES, ids=lambda c: f"U+{ord(c):04X}")
def test_a_space_of_another_kind_is_a_space(engine: Matcher, space: str) -> None:
    for text in (f"ValueError:{space}{FULL}", f"ValueError: {FULL}".replace(" ", space)):
        answer = diagnose(text, matcher=engine)
        assert answer.verdict == "known"
        assert answer.findings[0].params["self.total"] == 8


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda c: f"U+{ord(c):04X}")
def test_a_character_without_width_is_not_there(engine: Matcher, nothing: str) -> None:
    broken = f"ValueError: {FULL[:6]}{nothing}{FULL[6:]}{nothing}"
    assert diagnose(broken, matcher=engine).verdict == "known"


def test_indentation_of_a_web_page_is_indentation(engine: Matcher) -> None:
    log = (
        'Traceback (most recent call last):\n\u00a0\u00a0File "/x/sglang/srt/pool.py", line 40,'
        f" in take\n\u00a0\u00a0\u00a0\u00a0self.x()\nValueError:\u00a0{FULL}"
    )
    frame = diagnose(log, matcher=engine).findings[0].frame
    assert frame is not None
    assert (frame.file, frame.line, frame.function) == ("sglang/srt/pool.py", 40, "take")


@pytest.mark.parametrize(
    ("pasted", "printed"),
    [
        ("\u201cauto\u201d and \u2018x\u2019", "\"auto\" and 'x'"),
        ("use \u2014mem-fraction-static", "use --mem-fraction-static"),
        ("use \u2013tp-size 2", "use --tp-size 2"),
        ("bs 1\u20138, non\u2011finite, \u22121", "bs 1-8, non-finite, -1"),
        ("please wait\u2026 done", "please wait... done"),
        ("cut here\u2026", "cut here\u2026"),
        ("a\u3000b\u00adc", "a bc"),
        ("100%|██▊   | 8/28", "100%|██▊   | 8/28"),
        ("显存不足", "显存不足"),
    ],
)
def test_it_is_folded_to_what_a_program_prints(pasted: str, printed: str) -> None:
    assert folded(pasted) == printed
    assert clean(pasted)[0].text.lstrip() == printed.lstrip()


def test_a_template_that_has_a_dash_is_found_as_printed_and_as_pasted() -> None:
    template = "pool is exhausted \u2014 raise the limit of {self.limit} pages"
    place = Site("ValueError", template, "f", 3)
    matcher = Matcher(Index(build([ReleaseSites("sglang", "1.0", [place])], [])))
    for dash in ("\u2014", "--"):
        text = f"ValueError: pool is exhausted {dash} raise the limit of 12 pages"
        answer = diagnose(text, matcher=matcher)
        assert (answer.verdict, answer.findings[0].params) == ("known", {"self.limit": 12})
        large = diagnose(
            "INFO fine\n" * 300_000 + text + "\n" + "INFO ok\n" * 2_000, matcher=matcher
        )
        assert large.verdict == "known"


def test_a_span_leads_back_over_folded_characters_and_colours() -> None:
    text = "a\u200b\u200b \x1b[1mred\x1b[0m \u2014option \u201cb\u201d word \x1b[0mend"
    line = clean(text)[0]
    assert line.text == 'a red --option "b" word end'
    for word in ("red", "option", "word", "end"):
        at = line.text.index(word)
        a, b = line.span(at, at + len(word))
        assert text[a:b] == word


def test_plain_text_is_given_back_as_it_is() -> None:
    text = "nothing odd here"
    assert folded(text) is text


@given(st.text(alphabet="ab \u2014\u200b\u2026\u201c-", max_size=40))
def test_both_ways_of_folding_agree_and_count_what_they_took(text: str) -> None:
    new, cuts = folded_with_cuts(text)
    assert new == folded(text)
    assert len(text) == len(new) + sum(n for _, n in cuts)
