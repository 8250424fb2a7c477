"""Any form of a log is reduced to the program's own words, with the way back to the original."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.diagnosis.lines import clean, seconds
from app.diagnosis.shapes import take_off_learned
from app.diagnosis.wrapping import joined, width

SAID = "Scheduler hit an exception: Traceback (most recent call last):"
FORMS = {
    "bare": SAID,
    "engine": f"[2026-07-25 07:53:08 TP2] {SAID}",
    "engine-milliseconds": f"[2026-07-25 07:53:08.123 DP1 TP2 EP3] {SAID}",
    "cri": f"2026-07-25T07:53:08.217488813+08:00 stdout F [2026-07-25 07:53:08 TP2] {SAID}",
    "compose": f"sglang-1  | [2026-07-25 07:53:08 TP2] {SAID}",
    "compose-bare-name": f"sglang | {SAID}",
    "ray": f"(RayWorker pid=12, ip=10.0.0.1) [2026-07-25 07:53:08 TP2] {SAID}",
    "ray-coloured": f"\x1b[36m(RayWorker pid=12)\x1b[0m [2026-07-25 07:53:08 TP2] {SAID}",
    "kubectl": f"[pod/sglang-0/server] [2026-07-25 07:53:08 TP2] {SAID}",
    "torch": f"[rank2]: {SAID}",
    "mpi": f"[1,2]<stderr>: {SAID}",
    "glog": f"[rank2]:[E725 07:53:08.426633564 ProcessGroupGloo.cpp:143] {SAID}",
    "glog-without-time": f"[E ProcessGroupNCCL.cpp:458] {SAID}",
    "vllm": f"(EngineCore_0 pid=9) ERROR 07-25 07:53:08 [core.py:58] {SAID}",
    "logging": f"2026-07-25 07:53:08,123 - __main__ - ERROR - {SAID}",
    "logging-around-engine": (
        f"2026-07-25 07:53:08,123 - a.b - INFO - [2026-07-25 07:53:08 TP2] {SAID}"
    ),
    "loguru": f"2026-07-25 07:53:08.217 | ERROR    | sglang.srt:run:123 - {SAID}",
    "level-root": f"ERROR:root:{SAID}",
    "uvicorn": f"[2026-07-25 07:53:08] ERROR:    {SAID}",
    "syslog": f"Jul 25 07:53:08 node-7 python3[4711]: {SAID}",
    "cloudwatch": f"2026-07-25T07:53:08.217Z\t[2026-07-25 07:53:08 TP2] {SAID}",
    "epoch": f"1784966708217 {SAID}",
    "actions": f"2026-07-25T07:53:08.2174888Z ##[error]{SAID}",
    "grep": f"server.log:17:{SAID}",
    "cat-n": f"    17\t{SAID}",
    "viewer-number": f"  17 | {SAID}",
    "viewer-counter": f"[80746] [rank2]:{SAID}",
    "torn-bracket": f"2026-07-25 07:53:08 TP2] {SAID}",
    "markdown": f"> > {SAID}",
    "html": f"&gt; {SAID}",
    "progress": (
        "Capturing batches:  29%|██▊   | 8/28 [00:14<00:25,  1.30s/it]"
        f"[2026-07-25 07:53:08 TP2] {SAID}"
    ),
    "crlf": f"{SAID}\r",
    "overwritten": (
        f"Loading:  10%|█ | 1/9 [00:01<00:09]\rLoading: 20%|██ | 2/9 [00:02<00:08]\r{SAID}"
    ),
    "swallowed-escape": f"[33m[2026-07-25 07:53:08 TP2][0m {SAID}",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_programs_own_words_are_found_in_every_form(form: str) -> None:
    assert clean(FORMS[form])[-1].text.strip() == SAID


@pytest.mark.parametrize(
    ("form", "rank", "source"),
    [
        ("engine", "TP2", ""),
        ("engine-milliseconds", "DP1 TP2 EP3", ""),
        ("compose", "TP2", "sglang-1"),
        ("ray", "TP2", "RayWorker pid=12, ip=10.0.0.1"),
        ("torch", "rank2", "rank2"),
        ("mpi", "rank2", "rank2"),
        ("kubectl", "TP2", "pod/sglang-0/server"),
        ("vllm", None, "EngineCore_0 pid=9"),
        ("torn-bracket", "TP2", ""),
    ],
)
def test_who_printed_a_line_is_kept(form: str, rank: str | None, source: str) -> None:
    line = clean(FORMS[form])[-1]
    assert (line.rank, line.source) == (rank, source)


@pytest.mark.parametrize(
    "form", ["engine", "cri", "glog", "vllm", "logging", "syslog", "cloudwatch"]
)
def test_the_time_is_read_from_every_kind_of_stamp(form: str) -> None:
    time = clean(FORMS[form])[0].time
    assert time is not None
    assert round(time) % 86_400 == 7 * 3600 + 53 * 60 + 8


@pytest.mark.parametrize(
    "record",
    [
        {"log": f"{SAID}\n", "stream": "stderr", "time": "2026-07-25T07:53:08.1Z"},
        {"timestamp": "2026-07-25T07:53:08Z", "level": "error", "message": SAID},
        {"time": "x", "msg": "boom", "exc_info": f"{SAID}\nValueError: y"},
        {"ts": 1.5, "event": "boom", "exception": {"stack_trace": SAID}},
        {"@timestamp": "x", "kubernetes": {}, "log": SAID},
    ],
)
def test_json_log_records_are_unwrapped(record: dict[str, object]) -> None:
    assert any(line.text == SAID for line in clean(json.dumps(record)))


def test_several_json_records_on_one_line_are_all_read() -> None:
    text = " ".join(json.dumps({"log": f"line {i}\n", "stream": "stderr"}) for i in range(3))
    assert [line.text for line in clean(text)] == ["line 0", "line 1", "line 2"]


def test_a_traceback_in_a_quoted_string_becomes_lines() -> None:
    text = f"stderr: {(SAID + chr(10) + '  File x')!r}"
    assert [line.text for line in clean(text)] == ["stderr:", SAID, "  File x"]


def test_a_line_that_the_container_runtime_cut_is_one_line_again() -> None:
    stamp = "2026-07-25T07:53:08.1Z stderr"
    text = f"{stamp} P KDA verify needs 16\n{stamp} F  scratch steps\n{stamp} F next"
    assert [line.text for line in clean(text)] == ["KDA verify needs 16 scratch steps", "next"]


def test_a_span_leads_back_to_the_original_characters() -> None:
    text = "first\n\x1b[36m(W pid=1)\x1b[0m [2026-07-25 07:53:08 TP2] a \x1b[1mred\x1b[0m word\n"
    line = clean(text)[1]
    start = line.text.index("word")
    a, b = line.span(start, start + 4)
    assert text[a:b] == "word"


def test_a_wrapped_line_is_joined_and_keeps_the_number_of_its_first_part() -> None:
    lines = [
        f'  File "/usr/lib/python3/site-packages/sglang/srt/f{i:03}.py", line {i}, in run'
        for i in range(9)
    ]
    text = "\n".join(part for line in lines for part in (line[:40], line[40:]))
    cleaned = clean(text)
    assert [line.text for line in cleaned] == lines
    assert [line.number for line in cleaned] == list(range(1, 19, 2))
    a, b = cleaned[2].span(0, 60)
    assert text[a:b].replace("\n", "") == lines[2][:60]


def test_the_same_traceback_twice_is_not_taken_for_a_wrapped_one() -> None:
    one = ['  File "/a/very/long/path/that/is/the/longest/line.py", line 12, in run', "    run(x)"]
    assert width([*one, "ValueError: x", *one, "ValueError: x"]) is None


def test_joining_keeps_what_is_not_as_wide() -> None:
    assert joined(["ab", "cd", "e"], 2) == [(0, "abcde", (2, 4))]


def test_a_prefix_that_nobody_listed_is_learned_from_the_frames() -> None:
    frames = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "    f()"]
    frames += ['  File "b.py", line 2, in g', "    g()", "ValueError: x"]
    lines = clean("\n".join(f"<<gpu7 @ {i:05}>> {frame}" for i, frame in enumerate(frames)))
    take_off_learned(lines)
    assert [line.text for line in lines] == frames
    assert {line.source for line in lines} == {"gpu7"}


def test_rays_remark_on_repeated_lines_is_no_part_of_the_message() -> None:
    assert clean("ValueError: x [repeated 3x across cluster]")[0].text == "ValueError: x"


@example(text="\x00")
@given(st.text(max_size=400))
def test_any_text_is_cleaned_without_a_fault_and_spans_stay_inside(text: str) -> None:
    for line in clean(text):
        a, b = line.span(0, len(line.text))
        assert 0 <= a <= b <= len(text) + 1
        assert 1 <= line.number <= text.count("\n") + 1


@given(st.text(max_size=40))
def test_any_stamp_is_read_or_left(stamp: str) -> None:
    assert seconds(stamp) is None or seconds(stamp) is not None
