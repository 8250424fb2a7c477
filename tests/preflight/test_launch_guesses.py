"""Guesses at what a refused line may have meant: from the parser, the message, the source."""

import argparse
import time
from pathlib import Path
from typing import ClassVar

import pytest

from reproducers.launch import check_errors, parser_errors
from reproducers.launch.conditions import conditions_at
from reproducers.launch.config_reader import (
    REGISTRY,
    STORE,
    AutoConfig,
    ConfigMissingError,
    PlainConfig,
    PretrainedConfig,
)
from reproducers.launch.elsewhere import next_to_ask
from reproducers.launch.fresh import fresh, side_by_side
from reproducers.launch.hub import HfApi, LocalEntryNotFoundError, hf_hub_download
from reproducers.launch.later import asserted_later
from reproducers.launch.once import Line
from reproducers.launch.options import Options, _option
from reproducers.launch.words import pieces, with_value, without


@pytest.fixture
def options() -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp-size", "--tp", type=int, default=1)
    parser.add_argument("--dp-size", "--dp", type=int, default=1)
    parser.add_argument("--page-size", type=int)
    parser.add_argument("--mem", type=float)
    parser.add_argument("--chunked-prefill-size", type=int)
    parser.add_argument("--attention-backend", choices=["fa3", "triton", "flashinfer"])
    parser.add_argument("--reasoning-parser")
    parser.add_argument("--context-length", type=int)
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--disable-radix-cache", action="store_true")
    parser.add_argument("--enable-hierarchical-cache", action="store_true")
    parser.add_argument("--speculative-eagle-topk", type=int)
    parser.add_argument("--lora-paths", nargs="*")
    found = tuple(_option(a) for a in parser._actions if a.option_strings)
    return Options(found, {n: o for o in found for n in o.names}, {o.dest: o for o in found})


def _argparse(
    message: str, line: str, options: Options, **translations: list[list[str]]
) -> list[str]:
    argv = tuple(line.split())
    table = {"--" + k.replace("_", "-"): v for k, v in translations.items()}
    return [" ".join(c.argv) for c in parser_errors.guesses(message, argv, options, table)]


def test_a_line_is_cut_into_flags_with_their_values(options: Options) -> None:
    argv = ("--tp", "2", "--lora-paths", "a", "b", "--tp-size=4", "--zzz", "1", "x")
    assert [(p.name, p.values) for p in pieces(argv, options)] == [
        ("--tp", ("2",)),
        ("--lora-paths", ("a", "b")),
        ("--tp-size", ("4",)),
        ("--zzz", ("1", "x")),
    ]


def test_underscores_become_hyphens_first(options: Options) -> None:
    message = "x: error: unrecognized arguments: --reasoning_parser qwen3"
    guesses = _argparse(message, "--reasoning_parser qwen3 --tp 2", options)
    assert guesses[0] == "--reasoning-parser qwen3 --tp 2"
    assert guesses[-1] == "--tp 2"


def test_a_foreign_flag_is_translated_and_keeps_its_value(options: Options) -> None:
    message = "x: error: unrecognized arguments: --max-model-len 8192"
    guesses = _argparse(
        message, "--max-model-len 8192", options, max_model_len=[["--context-length"]]
    )
    assert guesses[0] == "--context-length 8192"


def test_a_translation_that_this_release_lacks_is_not_proposed(options: Options) -> None:
    message = "x: error: unrecognized arguments: --old 1"
    assert "--gone 1" not in _argparse(message, "--old 1", options, old=[["--gone"]])


CHOICES = "argument --attention-backend: invalid choice: '{}' (choose from 'fa3', 'triton')"
NOT_INT = "argument --tp-size/--tp: invalid int value: '{}'"


@pytest.mark.parametrize(
    ("complaint", "line", "first"),
    [
        (CHOICES.format("FA-3"), "--attention-backend FA-3", "--attention-backend fa3"),
        (
            CHOICES.format("flash_attention_3"),
            "--attention-backend=flash_attention_3",
            "--attention-backend=fa3",
        ),
        (NOT_INT.format("8GPU"), "--tp 8GPU", "--tp 8"),
        (NOT_INT.format("two"), "--tp two", "--tp 2"),
        (NOT_INT.format("32k"), "--tp 32k", "--tp 32768"),
        (
            "argument --disable-radix-cache: ignored explicit argument 'true'",
            "--disable-radix-cache=true",
            "--disable-radix-cache",
        ),
        (
            "ambiguous option: --d could match --dp-size, --disable-radix-cache",
            "--d 2",
            "--dp-size 2",
        ),
        (
            "the following arguments are required: --model-path",
            "--tp 2",
            "--tp 2 --model-path <model>",
        ),
        (
            "the following arguments are required: --model-path",
            "--model_path a/b --tp_size 2",
            "--model-path a/b --tp_size 2",
        ),
        (
            "the following arguments are required: --model-path",
            "-model-path a/b",
            "--model-path a/b",
        ),
        ("argument --tp-size: invalid int value: '2GPUs'", "--tp 2GPUs", "--tp 2"),
        (
            "argument --page-size: invalid choice: 9 (choose from 0, 1)",
            "--page-size 9",
            "--page-size 1",
        ),
        ("argument --mem: invalid float value: '90%'", "--mem 90%", "--mem 0.9"),
        (
            "argument --attention-backend: invalid choice: 'flash' (choose from 'x', 'flashinfer')",
            "--attention-backend flash",
            "--attention-backend flashinfer",
        ),
        ("unrecognized arguments: --tp 8", "x", "x"),
    ],
)
def test_a_value_that_the_parser_refuses_is_replaced(
    options: Options, complaint: str, line: str, first: str
) -> None:
    guesses = _argparse("prog: error: " + complaint, line, options)
    assert (guesses or [line])[0] == first


def test_what_many_flags_begin_with_does_not_make_them_alike(options: Options) -> None:
    message = "x: error: unrecognized arguments: --enable-hierarchical-cash"
    assert "--enable-hierarchical-cache" in _argparse(
        message, "--enable-hierarchical-cash", options
    )
    message = "x: error: unrecognized arguments: --disable-radio"
    assert _argparse(message, "--disable-radio", options) == [""], "only to be left out"


def test_a_flag_and_its_value_in_one_word_are_taken_apart(options: Options) -> None:
    argv = ("--model-path", "a", "--tp 8")
    changes = parser_errors.guesses("x: error: unrecognized arguments: --tp 8", argv, options, {})
    assert next(iter(changes)).argv == ("--model-path", "a", "--tp", "8")


def _checked(tmp_path: Path, source: str, message: str, line: str, options: Options) -> list[str]:
    path = tmp_path / "check.py"
    path.write_text(source)
    lines = enumerate(source.splitlines(), 1)
    number = next(i for i, text in lines if text.strip().startswith(("raise", "assert")))
    known = check_errors.Line(tuple(line.split()), {}, options)
    changes = check_errors.guesses(message, conditions_at(path, number), known)
    return [" ".join([*(f"{k}={v}" for k, v in c.env.items()), *c.argv]) for c in changes]


def test_two_flags_that_exclude_each_other_lose_the_disabling_one_first(
    tmp_path: Path, options: Options
) -> None:
    source = (
        "def f(cfg):\n    if cfg.enable_hierarchical_cache and cfg.disable_radix_cache:\n"
        "        raise ValueError('x')\n"
    )
    message = (
        "The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive."
    )
    line = "--enable-hierarchical-cache --disable-radix-cache --tp 2"
    guesses = _checked(tmp_path, source, message, line, options)
    assert guesses[:2] == ["--enable-hierarchical-cache --tp 2", "--disable-radix-cache --tp 2"]


def test_a_comparison_in_the_source_gives_the_value(tmp_path: Path, options: Options) -> None:
    source = "def f(cfg):\n    if cfg.speculative_eagle_topk > 1:\n        raise ValueError('x')\n"
    message = "the backend only supports topk = 1"
    guesses = _checked(tmp_path, source, message, "--speculative-eagle-topk 4", options)
    assert guesses[0] == "--speculative-eagle-topk 1"


def test_an_assertion_about_division_gives_the_nearest_values(
    tmp_path: Path, options: Options
) -> None:
    source = "def f(s):\n    assert s.chunked_prefill_size % s.page_size == 0, 'x'\n"
    line = "--chunked-prefill-size 4000 --page-size 64"
    guesses = _checked(tmp_path, source, "x", line, options)
    assert "--chunked-prefill-size 3968 --page-size 64" in guesses[:3]
    source = "def f(s):\n    assert s.tp_size % s.dp_size == 0\n"
    assert _checked(tmp_path, source, "", "--tp 16 --dp 3", options)[0] == "--tp 16 --dp 2"


def test_a_variable_that_the_message_names_is_set(tmp_path: Path, options: Options) -> None:
    source = "def f():\n    raise ValueError('x')\n"
    message = "please set SGLANG_ENABLE_SPEC_V2=1."
    guesses = _checked(tmp_path, source, message, "--tp 2", options)
    assert guesses[0] == "SGLANG_ENABLE_SPEC_V2=1 --tp 2"


def test_the_model_is_never_taken_out(tmp_path: Path, options: Options) -> None:
    source = "def f(cfg):\n    if cfg.model_path:\n        raise ValueError('x')\n"
    guesses = _checked(tmp_path, source, "bad --model-path", "--model-path a --tp 2", options)
    assert all("--model-path a" in g for g in guesses)


def test_small_edits_keep_the_rest(options: Options) -> None:
    argv = ("--tp=2", "--dp", "3")
    first, second = pieces(argv, options)
    assert without(argv, first).argv == ("--dp", "3")
    changed = with_value(argv, options, options.by_dest["tp_size"], "4")
    assert changed is not None
    assert changed.argv == ("--tp=4", "--dp", "3")
    assert second.values == ("3",)


def test_a_forked_function_answers_dies_or_is_ended() -> None:
    assert fresh(lambda: {"a": 1}, 10) == {"a": 1}
    assert "ZeroDivisionError" in fresh(lambda: {"a": 1 // 0}, 10)["died"]
    started = time.monotonic()
    assert "more than" in fresh(lambda: time.sleep(30) or {}, 0.3)["died"]
    jobs = [(str(i), lambda: time.sleep(30) or {}) for i in range(3)]
    assert list(side_by_side(jobs, 30, 2, until=time.monotonic() + 0.3)) == []
    assert time.monotonic() - started < 10


def test_a_config_is_read_plainly_and_by_the_registered_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Mine(PretrainedConfig):
        model_type = "mine"
        attribute_map: ClassVar = {"heads": "num_heads"}

    monkeypatch.setitem(REGISTRY, "mine", Mine)
    monkeypatch.setattr(STORE, "texts", {
        "a/b": '{"model_type": "mine", "num_heads": 3, "torch_dtype": "bfloat16"}',
        "c/d": '{"model_type": "other", "text_config": {"model_type": "mine", "num_heads": 5}}',
    })  # fmt: skip
    config = AutoConfig.from_pretrained("a/b")
    assert isinstance(config, Mine)
    assert config.heads == 3
    assert str(config.dtype) == "torch.bfloat16"
    other = AutoConfig.from_pretrained("c/d")
    assert isinstance(other, PlainConfig)
    assert other.get_text_config().heads == 5
    assert other.to_dict()["text_config"]["num_heads"] == 5
    with pytest.raises(ConfigMissingError):
        AutoConfig.from_pretrained("e/f")


def test_the_hub_has_only_what_was_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(STORE, "texts", {"../../a": "{}"})
    assert HfApi().file_exists("../../a", "config.json")
    assert not HfApi().file_exists("../../a", "hf_quant_config.json")
    path = Path(hf_hub_download("../../a", "config.json"))
    assert path.is_relative_to(tmp_path), "a name never leads out of the scratch folder"
    with pytest.raises(LocalEntryNotFoundError):
        hf_hub_download("x", "config.json")


def test_the_ends_are_asked_first_and_then_where_the_answers_change() -> None:
    every = [str(i) for i in range(23)]
    known: dict[str, list[str] | None] = {"22": ["accepted"]}
    waiting = set(every) - set(known)
    order = []
    while waiting:
        version = next_to_ask(every, known, waiting)
        waiting.discard(version)
        known[version] = ["refused" if int(version) < 9 else "accepted"]
        order.append(version)
    assert order[0] == "0"
    assert {"8", "9"} <= set(order[:6]), "five questions find where it changed among 23"
    assert sorted(order, key=int) == every[:-1]


def test_assertions_of_the_model_about_its_parallel_size_are_found(
    tmp_path: Path, options: Options
) -> None:
    models = tmp_path / "sglang" / "srt" / "models"
    models.mkdir(parents=True)
    (models / "mine.py").write_text(
        "class MineAttention:\n"
        "    def __init__(self, tp_size):\n"
        "        assert self.heads % tp_size == 0\n"
        "        assert self.other % 2 == 0\n"
        "class MineForCausalLM(Base):\n    pass\n"
    )

    def found(argv: str, config: str) -> list[dict[str, object]]:
        line = Line(program="launch_server", argv=tuple(argv.split()), configs={"a/b": config})
        return asserted_later(tmp_path, line, options)

    config = '{"architectures": ["MineForCausalLM"]}'
    [one] = found("--tp 3", config)
    assert one["text"] == "assert self.heads % tp_size == 0"
    assert one["file"] == "sglang/srt/models/mine.py"
    assert (one["line"], one["function"]) == (3, "MineAttention.__init__")
    assert found("--tp 1", config) == []
    assert found("--page-size 3", config) == []
    assert found("--tp 3", '{"architectures": ["Another"]}') == []
