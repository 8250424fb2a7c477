"""Whatever is pasted: an answer, no fault, no time."""

import contextlib
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.diagnosis.diagnose import diagnose
from app.diagnosis.matcher import Matcher
from app.exceptions import BadInputError
from tests.diagnosis.test_matcher import FULL, traceback

PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):",
        "  + Exception Group Traceback (most recent call last):",
        '  File "/x/sglang/srt/pool.py", line 40, in take',
        '  File "/x/sglang/srt/pool.py", line 4',
        "    raise ValueError(",
        "    ^^^^^^^^^",
        f"ValueError: {FULL}",
        "AssertionError",
        "During handling of the above exception, another exception occurred:",
        "  +-+---------------- 1 ----------------",
        "[2026-01-01 00:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):",
        (
            "[rank1]:[E1204 07:44:21.4 ProcessGroupGloo.cpp:143] Rank 1 successfully reached"
            " monitoredBarrier"
        ),
        '{"log":"x\\n","stream":"stderr"}',
        '{"object":"error","message":"pool","type":"BadRequestError","code":400}',
        "terminate called after throwing an instance of 'c10::Error'",
        "  what():  CUDA error: an illegal memory access was encountered",
        "Fatal Python error: Aborted",
        "Current thread 0x01 (most recent call first):",
        "x.py: error: unrecognized arguments: --a_b",
        "```",
        "> quoted",
        "",
        "Killed",
        "\x1b[31m",
        "(W pid=1)",
    ]
)
ORDINARY = (
    "[2026-08-30 11:12:13 TP0] Decode batch, #running-req: 3, #token: 912, token usage: 0.01,"
    " gen throughput (token/s): 101.10"
)
SLOW = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SLOW
@given(lines=st.lists(st.one_of(PIECES, st.text(max_size=60)), max_size=25))
def test_any_order_of_pieces_gets_an_answer(engine: Matcher, lines: list[str]) -> None:
    log = "\n".join(lines)
    answer = diagnose(log, matcher=engine)
    assert answer.verdict in ("known", "unknown", "incomplete", "clean")
    assert answer.root_cause is None or 0 <= answer.root_cause < len(answer.findings)
    assert (answer.verdict in ("known", "unknown")) == (answer.root_cause is not None)
    for finding in answer.findings:
        # a terminal may have wrapped the name
        assert finding.frame is None or finding.frame.function in log.replace("\n", "")


@SLOW
@given(data=st.binary(max_size=600))
def test_any_bytes_get_an_answer_or_are_refused_as_no_text(engine: Matcher, data: bytes) -> None:
    with contextlib.suppress(BadInputError):
        diagnose(data, matcher=engine)


@SLOW
@given(prefix=st.text(st.characters(exclude_characters="\n\r"), max_size=30))
def test_a_constant_prefix_never_invents_an_entry(engine: Matcher, prefix: str) -> None:
    body = traceback("sglang/srt/x.py", "f", 1, "TypeError: nothing known")
    log = "\n".join(prefix + line for line in body.split("\n"))
    assert all(f.package != "vllm" for f in diagnose(log, matcher=engine).findings)


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 2_000,
        "(" * 2_000,
        '"message": "' + "\\" * 2_000,
        "text='" + "'" * 2_000,
        "[2026-01-01 00:00:00" + " TP1" * 500,
        'File "' * 330,
        "Error: " * 280,
        "{" * 2_000,
        "0:" * 1_000,
        "pool " * 400,
        "a." * 1_000 + "Error",
        "%|" * 1_000,
        "\x1b[" * 1_000,
        "--" * 1_000,
        "a=1," * 500,
        "Rank 1 successfully reached monitoredBarrier " * 40,
        "🎉" * 1_000,
    ],
)
def test_a_hostile_line_costs_no_more_than_its_length(engine: Matcher, hostile: str) -> None:
    def cost(text: str, times: int) -> float:
        log = "\n".join([text] * times)
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            diagnose(log, matcher=engine)
            best = min(best, time.process_time() - started)
        return best

    few, many = cost(hostile, 4), cost(hostile, 32)
    plain = cost("\n".join([ORDINARY] * (2_000 // len(ORDINARY))), 32)
    assert many < 10 * plain, "as much text of an ordinary log costs a tenth"
    assert many < 8 * few * 3, "time grows faster than the log"


def test_one_long_line_is_linear(engine: Matcher) -> None:
    def cost(times: int) -> float:
        started = time.process_time()
        diagnose("x = 'a' " * times, matcher=engine)
        return time.process_time() - started

    cost(1_000)
    assert cost(240_000) < 3 * 8 * cost(30_000)
