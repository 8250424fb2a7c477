"""Which template a message belongs to, and when it belongs to none."""

import pytest

from app.diagnosis.diagnose import diagnose
from app.diagnosis.index import Index
from app.diagnosis.literals import Literals, _AhoCorasick, _automaton
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Diagnosis, Finding
from app.exceptions import UnavailableError
from app.loading.index import ReleaseSites, Words, build
from tests.diagnosis.engines import BARE, LINES, MOVED, SAYS, WIDE

FULL = "pool kv is full: 7 of 8 slots are taken"


def traceback(file: str, function: str, line: int, said: str, source: str = "raise x") -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "/opt/x/python/{file}", line {line}, in {function}\n    {source}\n{said}\n'
    )


def root(answer: Diagnosis) -> Finding:
    assert answer.root_cause is not None, answer
    return answer.findings[answer.root_cause]


def test_a_message_that_moved_is_shown_where_it_is_today(engine: Matcher) -> None:
    found = root(diagnose(traceback(WIDE.file, "take", 40, f"ValueError: {FULL}"), matcher=engine))
    assert found.params["n"] == 7
    assert found.frame is not None
    assert (found.frame.file, found.frame.function) == ("sglang/srt/pool.py", "take")
    assert found.site is not None
    assert found.site.status == "moved"
    assert found.site.today is not None
    assert found.site.today["file"] == "sglang/srt/slots.py"


def test_an_error_class_of_another_kind_is_not_matched_by_few_words(engine: Matcher) -> None:
    answer = diagnose(
        traceback("sglang/srt/x.py", "f", 1, "TypeError: pool kv is full"), matcher=engine
    )
    assert root(answer).entry_id is None


def test_a_bare_assert_is_found_by_its_code_line(engine: Matcher) -> None:
    log = traceback(BARE.file, "give", 71, "AssertionError", "assert slot in self.taken")
    assert root(diagnose(log, matcher=engine)).entry_id == BARE.entry_id


def test_a_bare_assert_of_another_condition_is_not(engine: Matcher) -> None:
    log = traceback(BARE.file, "give", 80, "AssertionError", "assert other_thing")
    assert root(diagnose(log, matcher=engine)).entry_id is None


def test_a_message_of_several_lines_is_one(engine: Matcher) -> None:
    log = traceback(
        LINES.file,
        "place",
        120,
        "RuntimeError: No room for the batch.\nTried to place 9 tokens.\nfree=2",
    )
    found = root(diagnose(log, matcher=engine))
    assert (found.entry_id, found.params["n"], found.params["state"]) == (
        LINES.entry_id,
        9,
        "free=2",
    )


def test_an_engine_is_never_given_another_engines_entry(engine: Matcher) -> None:
    log = traceback("vllm/worker.py", "take", 40, f"ValueError: {FULL}")
    answer = diagnose(log, matcher=engine)
    assert answer.engine == "vllm"
    assert root(answer).entry_id is None


def test_the_words_of_vllm_are_its_own_when_it_is_scanned(engine: Matcher) -> None:
    log = traceback("vllm/w.py", "run", 5, "ValueError: block table is too short for 3 blocks")
    assert root(diagnose(log, matcher=engine)).package == "vllm"


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-01-01 00:00:00] Receive: obj=GenerateReqInput(rid='1', text='ValueError: {FULL}')",
        f'[2026-01-01 00:00:00] body: {{"prompt": "RuntimeError: No room for the batch. {FULL}"}}',
    ],
)
def test_what_a_user_typed_is_never_matched(engine: Matcher, line: str) -> None:
    answer = diagnose(line, matcher=engine)
    assert (answer.verdict, answer.findings) == ("clean", [])


def test_a_warning_of_the_catalog_is_counted_apart(engine: Matcher) -> None:
    answer = diagnose(
        "[2026-01-01 00:00:00 TP0] pool kv is nearly full, 3 slots left\n" * 2, matcher=engine
    )
    assert (answer.verdict, answer.findings) == ("clean", [])
    assert [(w.count, w.first_line) for w in answer.warnings] == [(2, 1)]


def test_an_error_line_without_a_traceback_is_a_finding(engine: Matcher) -> None:
    answer = diagnose("[2026-01-01 00:00:00 TP0] request ab was dropped: no slot", matcher=engine)
    assert (root(answer).entry_id, root(answer).params["rid"]) == (SAYS.entry_id, "ab")


def test_what_was_reworded_leads_to_what_it_is_called_today() -> None:
    words = Words(successors={WIDE.entry_id: LINES.entry_id})
    releases = [ReleaseSites("sglang", "1.0", [WIDE]), ReleaseSites("sglang", "1.1", [LINES])]
    matcher = Matcher(Index(build(releases, [], words)))
    found = root(diagnose(f"ValueError: {FULL}", matcher=matcher))
    assert found.template == WIDE.template
    assert found.entry_id == LINES.entry_id
    assert found.site is not None
    assert found.site.status == "reworded"


def test_both_finders_of_fixed_strings_give_the_same_hits() -> None:
    strings = [b"pool ", b"is full", b"ool", b"taken"]
    data = b"the pool kv is full, all taken\n" * 3
    ours = sorted(Literals(lambda: strings).scanner().scan(data))
    assert ours == sorted(_AhoCorasick(_automaton(strings)).scan(data))


def test_a_compiled_database_of_another_machine_is_compiled_anew() -> None:
    found = Literals(lambda: [b"needle"], b"damaged").scanner().scan(b"a needle")
    assert [(h.literal, h.end) for h in found] == [(0, 8)]


def test_an_index_comes_back_as_it_was_packed(engine: Matcher) -> None:
    record = engine.index.by_id(MOVED.entry_id)
    assert record is not None
    assert [s[:2] for s in record.sites] == [
        ["sglang/srt/slots.py", "SlotPool.take"],
        ["sglang/srt/pool.py", "Pool.take"],
    ]
    assert engine.index.by_id("0" * 16) is None
    assert engine.index.releases == [("sglang", "1.0"), ("sglang", "1.1"), ("vllm", "2.0")]


def test_bytes_that_are_no_index_are_refused_in_a_sentence() -> None:
    with pytest.raises(UnavailableError, match="no index of this version"):
        Index(b"something else entirely")


def test_functions_of_a_release_tell_it_apart() -> None:
    def facts(first: int) -> dict[str, object]:
        return {"files": {"sglang/srt/pool.py": [["Pool.take", first, first + 20]]}, "flags": []}

    index = build(
        [
            ReleaseSites("sglang", "1.0", [WIDE], facts(30)),
            ReleaseSites("sglang", "1.1", [MOVED], facts(130)),
        ],
        [],
    )
    log = traceback(WIDE.file, "take", 140, f"ValueError: {FULL}") + traceback(
        WIDE.file, "take", 141, "ValueError: x"
    )
    answer = diagnose(log, matcher=Matcher(Index(index)))
    assert answer.release == "sglang==1.1"
    assert root(answer).frame.qualified_function == "Pool.take"  # type: ignore[union-attr]  # it has one
