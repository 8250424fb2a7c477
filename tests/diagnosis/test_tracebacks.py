"""Tracebacks in every shape: what was raised, where, on whose account."""

from app.diagnosis.lines import clean
from app.diagnosis.raised import Raised
from app.diagnosis.shapes import take_off_learned
from app.diagnosis.streams import split
from app.diagnosis.tracebacks import parse

HEAD = "Traceback (most recent call last):"
RUN = '  File "/x/sglang/srt/run.py", line 7, in run\n    step()\n'
STEP = '  File "/x/sglang/srt/step.py", line 9, in step\n    raise ValueError("no")\n'


def chains(text: str) -> list[list[Raised]]:
    lines = clean(text)
    take_off_learned(lines)
    return [chain for stream in split(lines) for chain in parse(stream).chains]


def only(text: str) -> Raised:
    ((raised,),) = chains(text)
    return raised


def test_frames_class_and_message_are_read() -> None:
    raised = only(f"{HEAD}\n{RUN}{STEP}ValueError: no")
    assert (raised.error_class, raised.text) == ("ValueError", "no")
    assert [(f.function, f.line, f.source) for f in raised.frames] == [
        ("run", 7, "step()"),
        ("step", 9, 'raise ValueError("no")'),
    ]


def test_a_chain_says_how_its_exceptions_hang_together() -> None:
    text = (
        f"{HEAD}\n{STEP}KeyError: 'x'\n\nDuring handling of the above exception, another exception"
        f" occurred:\n\n{HEAD}\n{RUN}ValueError: no\n\nThe above exception was the direct cause of"
        f" the following exception:\n\n{HEAD}\n{RUN}RuntimeError: so"
    )
    (chain,) = chains(text)
    assert [(r.error_class, r.relation) for r in chain] == [
        ("KeyError", None),
        ("ValueError", "handling"),
        ("RuntimeError", "cause"),
    ]


def test_what_a_group_holds_is_read() -> None:
    text = (
        f'  + Exception Group {HEAD}\n  |   File "a.py", line 1, in f\n'
        "  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n"
        f'    | {HEAD}\n    |   File "b.py", line 2, in g\n    | ValueError: one\n'
        "    +---------------- 2 ----------------\n"
        f'    | {HEAD}\n    |   File "c.py", line 3, in h\n    | TypeError: two\n'
        "    +------------------------------------\n"
    )
    (chain,) = chains(text)
    assert [(r.error_class, r.relation) for r in chain] == [
        ("ExceptionGroup", None),
        ("ValueError", "group"),
        ("TypeError", "group"),
    ]


def test_the_frames_behind_a_remote_error_are_its_cause() -> None:
    text = (
        f"{HEAD}\n{RUN}ray.exceptions.RayTaskError(ValueError): ray::W.f() (pid=1, ip=10.0.0.1)\n"
        f"{STEP}ValueError: no"
    )
    (chain,) = chains(text)
    assert [(r.error_class, r.relation) for r in chain][1] == ("ValueError", "group")


def test_an_unindented_paste_is_read_the_same() -> None:
    text = "\n".join(x.strip() + " " for x in f"{HEAD}\n{RUN}{STEP}ValueError: no".split("\n"))
    raised = only(text)
    assert (raised.error_class, raised.text, len(raised.frames)) == ("ValueError", "no", 2)


def test_a_traceback_without_its_start_is_marked() -> None:
    raised = only(f"    step()\n{STEP}ValueError: no")
    assert raised.cut_start
    assert raised.frames[0].function == "step"


def test_a_traceback_without_its_end_has_no_class() -> None:
    raised = only(f"{HEAD}\n{RUN}{STEP}")
    assert raised.cut_end
    assert raised.error_class is None


def test_an_exception_without_a_message_is_one() -> None:
    assert only(f"{HEAD}\n{STEP}AssertionError").text == ""
    assert only(f"{HEAD}\n{STEP}AssertionError ").error_class == "AssertionError"


def test_a_message_goes_on_until_the_next_record() -> None:
    text = (
        f"[2026-01-01 00:00:00 TP0] x: {HEAD}\n{STEP}ValueError: no\nroom for 3\n\n"
        "[2026-01-01 00:00:01] bye"
    )
    assert only(text).text == "no\nroom for 3"


def test_a_shells_remark_is_no_part_of_a_message() -> None:
    text = f"{HEAD}\n{STEP}ValueError: no\n./run.sh: line 22: 103525 Killed   python -m x"
    assert only(text).text == "no"


def test_a_frame_wrapped_in_the_middle_is_joined() -> None:
    text = (
        f'{HEAD}\n  File "/usr/local/lib/python3.12/dist-packages/sgl\n'
        'ang/srt/a.py", line 3, in f\nValueError: x'
    )
    frame = only(text).frames[0]
    assert (frame.file.rsplit("/", 3)[1:], frame.line) == (["sglang", "srt", "a.py"], 3)


def test_the_stack_of_a_dying_interpreter_is_turned_around() -> None:
    text = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x01 (most recent call first):\n"
        '  File "/x/k.py", line 31 in inner\n  File "/x/sglang/srt/o.py", line 5 in outer\n\n'
        'Thread 0x02 (most recent call first):\n  File "/x/t.py", line 1 in wait\n'
    )
    raised = only(text)
    assert (raised.error_class, raised.text) == ("Fatal Python error", "Segmentation fault")
    assert [f.function for f in raised.frames] == ["outer", "inner"]


def test_rich_boxes_are_read() -> None:
    text = (
        "╭──────── Traceback (most recent call last) ────────╮\n"
        "│ /x/sglang/srt/a.py:110 in resolve                 │\n"
        "│ ❱ 110 │   raise ValueError()                      │\n"
        "╰───────────────────────────────────────────────────╯\nValueError: x"
    )
    raised = only(text)
    assert (raised.error_class, raised.frames[0].function, raised.frames[0].line) == (
        "ValueError",
        "resolve",
        110,
    )


def test_ranks_interleaved_line_by_line_are_told_apart() -> None:
    a = f"{HEAD}\n{RUN}ValueError: a".split("\n")
    b = f"{HEAD}\n{STEP}TypeError: b".split("\n")
    text = "\n".join(
        f"[rank{r}]: {x}" for pair in zip(a, b, strict=True) for r, x in enumerate(pair)
    )
    assert sorted((c[0].rank, c[0].error_class, c[0].frames[0].function) for c in chains(text)) == [
        ("rank0", "ValueError", "run"),
        ("rank1", "TypeError", "step"),
    ]


def test_ranks_interleaved_without_a_prefix_are_told_apart() -> None:
    body = f"{RUN}{STEP}ValueError: no".split("\n")
    text = f"[2026-01-01 00:00:00 TP0] x: {HEAD}\n[2026-01-01 00:00:00 TP1] x: {HEAD}\n"
    text += "\n".join(line for line in body for _ in range(2))
    found = chains(text)
    assert [(c[0].rank, len(c[0].frames), c[0].text) for c in found] == [
        ("TP0", 2, "no"),
        ("TP1", 2, "no"),
    ]


def test_another_ranks_record_in_between_does_not_tear_a_traceback() -> None:
    text = (
        f"[2026-01-01 00:00:00 TP0] x: {HEAD}\n{RUN}[2026-01-01 00:00:00 TP1] Decode batch\n"
        f"{STEP}ValueError: no"
    )
    raised = only(text)
    assert (raised.rank, len(raised.frames), raised.text) == ("TP0", 2, "no")


def test_the_record_before_a_bare_header_is_its_lead() -> None:
    text = (
        "[2026-01-01 00:00:00] ERROR:    Exception in ASGI application\n"
        f"{HEAD}\n{STEP}ValueError: no"
    )
    assert only(text).lead == "Exception in ASGI application"
