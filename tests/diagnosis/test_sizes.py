"""Numbers of a size mismatch are taken apart against what launch line and log say."""

from app.diagnosis.facts import Facts, read_command, read_lines
from app.diagnosis.lines import clean
from app.diagnosis.sizes import Reading, read

SPEC = (
    "python -m sglang.launch_server --speculative-algorithm EAGLE --speculative-num-steps {steps}"
    " --speculative-eagle-topk {topk} --speculative-num-draft-tokens {draft} --tp 8"
)


def taken(a: int, b: int, command: str = "", log: str = "", line: int = 99) -> Reading:
    facts = Facts()
    if command:
        read_command(facts, command)
    read_lines(facts, clean(log))
    return read(a, b, facts, line=line, rank=None)


def hints(reading: Reading) -> str:
    return " ".join(reading.hints)


def test_a_batch_times_draft_tokens_is_named_from_the_launch_line() -> None:
    log = "[2026-01-01 00:00:00] Decode batch, #running-req: 10, #token: 5"
    said = hints(taken(160, 10, SPEC.format(steps=15, topk=1, draft=16), log))
    assert "160 = 10 running requests x 16 draft tokens" in said
    assert "10 = running requests (the last decode batch)" in said


def test_steps_plus_one_against_draft_tokens_is_a_tree_taken_for_a_chain() -> None:
    reading = taken(6, 8, SPEC.format(steps=5, topk=4, draft=8))
    assert reading.params == {"num_steps_plus_1": 6, "num_draft_tokens": 8}
    assert "--speculative-eagle-topk 1" in hints(reading)
    assert "(yours: top-k 4)" in hints(reading)


def test_a_padded_batch_is_told_from_the_real_one_by_the_numbers_alone() -> None:
    reading = taken(96, 90)
    assert reading.params == {"padded_batch": 16, "real_batch": 15, "num_tokens_per_bs": 6}
    assert "96 = 16 x 6 against 90 = 15 x 6" in hints(reading)


def test_what_is_ambiguous_is_said_to_be() -> None:
    assert "by the numbers alone" in hints(taken(96, 84))


def test_graph_sizes_of_the_log_itself_decide_about_padding() -> None:
    log = "[2026-01-01 00:00:00 TP0] Capture cuda graph bs [1, 2, 4, 20]"
    assert taken(60, 57, log=log).params["padded_batch"] == 20


def test_a_little_more_than_a_limit_is_a_look_ahead() -> None:
    reading = taken(163840, 163842, "sglang serve --context-length 163840")
    assert reading.params["surplus"] == 2
    assert "163842 = 163840 + 2: 163840 is the context length (--context-length)" in hints(reading)


def test_several_tokens_a_request_against_one() -> None:
    reading = taken(4, 2)
    assert reading.params == {"batch_size": 2, "num_tokens_per_bs": 2}
    assert "probably" in hints(reading)


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert taken(97, 89).hints == []
    assert taken(5, 5).hints == []
    assert taken(0, 3).hints == []


def test_facts_are_read_from_server_args_and_commands_in_the_log() -> None:
    log = (
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='m', tp_size=4, page_size=16)\n"
        "$ python -m sglang.launch_server --model-path m --mem-fraction-static=0.8"
        " --disable-cuda-graph\n"
        "[2026-01-01 00:00:01 TP0] max_total_num_tokens=4000, context_len=4096\n"
        "[2026-01-01 00:00:02] The server is fired up and ready to roll!\n"
    )
    facts = Facts()
    read_lines(facts, clean(log))
    assert facts.values["tp_size"] == 4
    assert facts.values["page_size"] == 16
    assert facts.given["--mem-fraction-static"] == "0.8"
    assert facts.given["--disable-cuda-graph"] == ""
    assert facts.number("max_total_num_tokens") == 4000
    assert facts.ready_line == 4
