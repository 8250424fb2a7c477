"""What a text must hold to be a launch line, and what is said of one that is none."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.exceptions import BadInputError, TooLargeError
from app.preflight.command import LIMIT, parse, parse_all


@pytest.mark.parametrize("text", ["", "   \n\t ", "\n\n"])
def test_an_empty_line_asks_for_one(text: str) -> None:
    with pytest.raises(BadInputError, match="empty"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve Qwen/Qwen3-8B", "is vLLM, not SGLang"),
        ("python -m vllm.entrypoints.openai.api_server --model x", "is vLLM, not SGLang"),
        ("docker run --gpus all vllm/vllm-openai --model x", "starts no server"),
        ("trtllm-serve x", "TensorRT-LLM"),
        ("python -m sglang.bench_serving --backend sglang", "sglang.bench_serving"),
        ("python -m sglang_router.launch_router", "starts no server"),
        ("sglang generate --prompt x", "sglang generate"),
        ("ls -la", "`ls` starts no server"),
        ("curl http://localhost:30000/health", "curl"),
        ("hello", "`hello` starts no server"),
        ("# only a comment", "No launch of a server"),
        ("services:\n  db:\n    image: postgres\n    command: postgres -c x\n", "starts no server"),
        ('{"a": 1}', "starts no server"),
    ],
)
def test_another_programs_line_is_named(text: str, words: str) -> None:
    with pytest.raises(BadInputError, match=r"starts no server|not SGLang|No launch") as caught:
        parse(text)
    assert words in str(caught.value)


def test_a_megabyte_of_text_is_too_large_and_said_so_at_once() -> None:
    started = time.perf_counter()
    with pytest.raises(TooLargeError, match="1,048,576 characters"):
        parse("x" * (1 << 20))
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize(
    "unit", ["a\n", "\\", "`", "&", "<", '"', "#\n", "-- ", "$(", "$A", "- a: [\n"]
)
def test_hostile_text_is_read_in_reasonable_time(unit: str) -> None:
    text = "python -m sglang.launch_server " + unit * (60_000 // len(unit))
    started = time.process_time()
    with _either():
        parse(text)
    assert time.process_time() - started < 5


class _either:  # noqa: N801  # reads as a sentence
    """Either a command or a sentence of our own: never another exception."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, *_: object) -> bool:
        return isinstance(kind, type) and issubclass(kind, BadInputError)


@settings(max_examples=150, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("ab-=\"'\\\n #<>|&;$(){}[]:`~^!/.,\u2013\u201c\u00a0"),
        max_size=120,
    )
)
def test_any_text_gives_a_command_or_a_sentence(text: str) -> None:
    with _either():
        command = parse("python -m sglang.launch_server " + text)
        assert len(command.argv) == len(command.spans)


def test_the_limit_is_far_above_real_lines() -> None:
    assert LIMIT >= 100_000


def test_every_launch_of_a_script_is_found() -> None:
    text = (
        "python -m sglang.launch_server --model-path a --disaggregation-mode prefill &\n"
        "python -m sglang.launch_server --model-path a --disaggregation-mode decode --port 1 &\n"
    )
    commands = parse_all(text)
    assert [c.argv[3] for c in commands] == ["prefill", "decode"]
    assert text[commands[1].spans[0][0] :].startswith("--model-path a --disaggregation-mode decode")


def test_a_nul_byte_is_no_command_line() -> None:
    with pytest.raises(BadInputError, match="NUL"):
        parse("python -m sglang.launch_server \0")
