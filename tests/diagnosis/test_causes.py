"""What came first, what followed, what merely echoes; and what the answer says it lacks."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.diagnosis.diagnose import diagnose
from app.diagnosis.echoes import _TABLE, NEEDLES, asynchronous, echo
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Diagnosis
from tests.diagnosis.test_matcher import FULL, traceback

HEAD = "Scheduler hit an exception: "
POOL = traceback("sglang/srt/pool.py", "take", 40, f"ValueError: {FULL}")
OTHER = traceback("sglang/srt/pool.py", "go", 1, "RuntimeError: something else")
DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
CHILD = (
    "[2026-01-01 00:00:09] SIGQUIT received. signum=None, frame=None."
    " It usually means one child failed."
)


def said(answer: Diagnosis) -> list[tuple[str, str | None]]:
    return [(f.role, f.error_class) for f in answer.findings]


def cause(answer: Diagnosis) -> str | None:
    return answer.findings[answer.root_cause].error_class if answer.root_cause is not None else None


def at(second: int, rank: str, log: str, lead: str = HEAD) -> str:
    return f"[2026-01-01 00:00:{second:02} {rank}] {lead}{log}\n"


def test_a_wrapper_that_repeats_an_error_is_its_consequence(engine: Matcher) -> None:
    log = POOL + DURING + traceback("sglang/srt/o.py", "outer", 2, f"Exception: failed: {FULL}")
    assert said(diagnose(log, matcher=engine)) == [
        ("root-cause", "ValueError"),
        ("consequence", "Exception"),
    ]


def test_a_look_up_is_explained_by_the_error_raised_on_its_account(engine: Matcher) -> None:
    log = traceback("sglang/srt/pool.py", "take", 39, "KeyError: 'kv'", "d[k]") + CAUSE + POOL
    answer = diagnose(log, matcher=engine)
    assert said(answer) == [("consequence", "KeyError"), ("root-cause", "ValueError")]
    assert answer.findings[1].params["first_exception"] == "KeyError: kv" or "'kv'" in str(
        answer.findings[1].params["first_exception"]
    )


def test_an_error_of_the_clean_up_does_not_hide_the_first(engine: Matcher) -> None:
    log = (
        OTHER
        + DURING
        + traceback(
            "sglang/srt/o.py", "close", 2, "AttributeError: 'P' object has no attribute 'x'"
        )
    )
    assert cause(diagnose(log, matcher=engine)) == "RuntimeError"


def test_the_clock_decides_between_processes(engine: Matcher) -> None:
    log = at(40, "TP1", OTHER) + at(10, "TP0", POOL)
    answer = diagnose(log, matcher=engine)
    assert cause(answer) == "ValueError"
    assert answer.findings[answer.root_cause or 0].rank == "TP0"


def test_the_order_of_lines_decides_where_clocks_are_close(engine: Matcher) -> None:
    assert (
        cause(diagnose(at(11, "TP1", OTHER) + at(10, "TP0", POOL), matcher=engine))
        == "RuntimeError"
    )


def test_the_same_error_at_several_ranks_is_one_finding(engine: Matcher) -> None:
    answer = diagnose(at(1, "TP1", POOL) + at(1, "TP0", POOL), matcher=engine)
    (finding,) = answer.findings
    assert (finding.count, finding.rank, finding.ranks) == (2, "TP1", ["TP1", "TP0"])
    assert [o.rank for o in finding.occurrences] == ["TP0"]


def test_a_record_and_the_exception_with_its_words_are_one_finding(engine: Matcher) -> None:
    log = f"[2026-01-01 00:00:01 TP0] {FULL}\n" + at(1, "TP0", POOL)
    (finding,) = diagnose(log, matcher=engine).findings
    assert (finding.count, finding.error_class, finding.frame is not None) == (
        2,
        "ValueError",
        True,
    )


def test_a_failed_request_is_not_why_a_server_stopped(engine: Matcher) -> None:
    log = at(1, "TP0", POOL, "ERROR:    Exception in ASGI application ") + at(30, "TP0", OTHER)
    answer = diagnose(log, matcher=engine)
    assert said(answer) == [("warning", "ValueError"), ("root-cause", "RuntimeError")]


def test_without_anything_fatal_the_failed_request_is_the_cause(engine: Matcher) -> None:
    log = at(1, "TP0", POOL, "ERROR:    Exception in ASGI application ")
    assert cause(diagnose(log, matcher=engine)) == "ValueError"


def test_only_echoes_mean_that_the_reason_is_elsewhere(engine: Matcher) -> None:
    answer = diagnose(CHILD, matcher=engine)
    assert (answer.verdict, answer.root_cause) == ("incomplete", None)
    assert "first traceback" in answer.missing[0]


def test_the_rank_that_healthy_ones_name_is_asked_for(engine: Matcher) -> None:
    log = (
        "[rank1]:[E1204 07:44:21.4 ProcessGroupGloo.cpp:143] Rank 1 successfully reached"
        " monitoredBarrier,"
        " but received errors while waiting for send/recv from rank 3. Please check rank 3 logs"
        " for faulty rank."
    )
    answer = diagnose(log, matcher=engine)
    assert answer.verdict == "incomplete"
    assert answer.missing[0].startswith("The log of rank 3")


def test_a_cut_traceback_alone_asks_for_its_end(engine: Matcher) -> None:
    answer = diagnose(POOL[: POOL.index("ValueError")], matcher=engine)
    assert answer.verdict == "incomplete"
    assert "end of the traceback" in answer.missing[0]


def test_nothing_given_is_told_from_nothing_found(engine: Matcher) -> None:
    assert diagnose("INFO all is well", matcher=engine).verdict == "clean"


@pytest.mark.parametrize(
    ("log", "code", "name"),
    [
        ("[x] Exit code: -9", -9, "SIGKILL"),
        ("server-1 exited with code 137", 137, "SIGKILL"),
        ("      Reason:       OOMKilled\n      Exit Code:    137", 137, "SIGKILL"),
        (
            "./run.sh: line 22: 103525 Killed                  python -m sglang.launch_server",
            -9,
            "SIGKILL",
        ),
        ("Segmentation fault (core dumped)", -11, "SIGSEGV"),
        ("Bus error (core dumped)", -7, "SIGBUS"),
        ("kernel: Out of memory: Killed process 12 (python) total-vm:9kB", -9, "SIGKILL"),
    ],
)
def test_exit_codes_and_signals_are_read(engine: Matcher, log: str, code: int, name: str) -> None:
    answer = diagnose(log, matcher=engine)
    assert answer.root_cause is not None
    finding = answer.findings[answer.root_cause]
    assert (finding.params["exit_code"], finding.params["signal"]) == (code, name)
    assert finding.slug is not None


def test_a_kill_after_an_error_is_the_clean_up(engine: Matcher) -> None:
    answer = diagnose(at(1, "TP0", POOL) + CHILD + "\nKilled\n", matcher=engine)
    assert cause(answer) == "ValueError"
    echoes = [f for f in answer.findings if f.role == "echo"]
    assert any("clean-up" in h for f in echoes for h in f.hints) or not echoes


@pytest.mark.parametrize(
    "message",
    [
        "TP rank 1 could finish the model loading, but there are other ranks that didn't finish",
        "Received sigquit from a child proces. It usually means the child failed.",
        "Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "Rank 0 scheduler is dead. Please check if there are relevant logs.",
        "[Errno 104] Connection reset by peer",
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)",
    ],
)
def test_reports_of_somebody_elses_failure_are_echoes(message: str) -> None:
    assert echo(None, message) is not None


@pytest.mark.parametrize(
    "message", ["pool is full", "CUDA out of memory.", "child policy is wrong"]
)
def test_errors_of_their_own_are_none(message: str) -> None:
    assert echo("ValueError", message) is None


def test_faults_of_the_device_are_known_to_surface_late(engine: Matcher) -> None:
    said_ = "RuntimeError: CUDA error: an illegal memory access was encountered"
    answer = diagnose(
        traceback("sglang/srt/a.py", "verify", 3, said_, "x.tolist()"), matcher=engine
    )
    finding = answer.findings[0]
    assert finding.params["async"] is True
    assert "not where it was made" in finding.hints[0]
    assert "CUDA_LAUNCH_BLOCKING=1" in finding.hints[0]
    assert not asynchronous("CUDA out of memory")


@pytest.mark.parametrize("pattern", [row[0] for row in _TABLE])
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_echo_is_missed_for_want_of_its_words(pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII)))
    assert any(needle in text for needle in NEEDLES)
