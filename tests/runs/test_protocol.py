"""What goes through the wall's door: lines that say what they said, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproducers.protocol import (
    Event,
    Frame,
    Limits,
    Request,
    Result,
    Subject,
    dump,
    load_answer,
    load_request,
)

REQUEST = Request(
    kind="reproducer",
    subject=Subject(name="sglang==0.5.18", root="/w", package="sglang", version="0.5.18"),
    scratch="/tmp/x",
    step="fix",
    sites=({"file": "a.py", "function": "f", "line": 1, "guardLines": [1]},),
    readable=("/a",),
    limits=Limits(seconds=3.0, memory_bytes=None),
)
RESULT = Result(
    outcome="raised",
    message="ünïcode\nand lines",
    site=Frame(file="a.py", function="f", line=1),
    traceback=[Frame(file="a.py", function="f", line=1)],
    checks=[{"id": "n", "ok": True}],
)


def test_a_request_and_a_result_survive_the_wire() -> None:
    assert load_request(dump(REQUEST)) == REQUEST
    assert load_answer(dump(RESULT)) == RESULT
    assert load_answer(dump(Event(event="value", data={"n": 1}))) == Event(
        event="value", data={"n": 1}
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no JSON",
        "{}",
        "[]",
        "5",
        '{"kind": "other", "subject": {}, "scratch": ""}',
        '{"kind": 1}',
    ],
)
def test_what_is_no_request_is_a_value_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        load_request(line)


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "passed"},
        {"outcome": ["raised"]},
        {"checks": "all"},
        {"checks": [1]},
        {"matched": "yes"},
        {"values": []},
        {"seconds": "long"},
        {"site": {"file": 1, "function": "f", "line": 1}},
        {"traceback": 5},
        {"unknown": 1},
        {"event": "started"},
    ],
)
def test_a_forged_result_of_other_types_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        load_answer(json.dumps(json.loads(dump(RESULT)) | change))


def test_numbers_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN is not JSON"):
        load_answer('{"outcome": "raised", "values": {"x": NaN}}')


def test_numbers_that_json_does_not_have_are_said_in_words() -> None:
    answer = load_answer(dump(Result(outcome="raised", values={"x": float("nan")})))
    assert isinstance(answer, Result)
    assert answer.values == {"x": "NaN"}


def test_null_characters_do_not_come_through() -> None:
    answer = load_answer(dump(Result(outcome="raised", message="a\0b")))
    assert isinstance(answer, Result)
    assert answer.message == "a\N{REPLACEMENT CHARACTER}b"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
names = st.sampled_from([*Result.__dataclass_fields__, *Event.__dataclass_fields__, "x"])


@given(st.dictionaries(names, values, max_size=6) | values)
def test_whatever_a_worker_writes_is_an_answer_or_a_value_error(raw: object) -> None:
    try:
        answer = load_answer(json.dumps(raw))
    except ValueError:
        return
    assert isinstance(answer, Event | Result)
    dump(answer)
