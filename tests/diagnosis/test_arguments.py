"""A refused argument is answered with what was meant."""

import pytest

from app.diagnosis.arguments import read, usage_flags
from app.diagnosis.facts import Facts
from app.diagnosis.phases import fitting
from app.diagnosis.vllm_flags import VLLM_FLAGS
from app.loading.index_facts import facts_of
from app.settings import load_settings
from app.wheels import fetch

FLAGS = {"--mem-fraction-static": [0], "--context-length": [0], "--attention-backend": [0]}


def refused(text: str) -> tuple[dict[str, object], list[str]]:
    advice = read(f"launch_server.py: error: {text}", FLAGS, [])
    return advice.params, advice.fixes


def test_a_misspelt_flag_is_set_right() -> None:
    params, fixes = refused("unrecognized arguments: --mem-fraction-statics 0.8")
    assert (params["prog"], params["suggest"]) == ("launch_server.py", "--mem-fraction-static")
    assert fixes == [
        (
            "**Did you mean `--mem-fraction-static`?** `--mem-fraction-statics` is no flag of this"
            " program."
        )
    ]


def test_underscores_are_set_right() -> None:
    assert refused("unrecognized arguments: --context_length 4")[0]["suggest"] == "--context-length"


def test_a_flag_of_vllm_is_translated() -> None:
    params, fixes = refused("unrecognized arguments: --max-model-len 4096")
    assert params["suggest"] == "--context-length"
    assert "vLLM's" in fixes[0]


def test_a_flag_that_needs_no_counterpart_is_dropped() -> None:
    params, fixes = refused("unrecognized arguments: --enable-reasoning")
    assert "suggest" not in params
    assert fixes[0].startswith("**Drop `--enable-reasoning`.**")


def test_a_wrong_choice_is_set_right_from_the_choices_in_the_message() -> None:
    params, fixes = refused(
        "argument --attention-backend: invalid choice: 'flash_infer' (choose from 'triton',"
        " 'flashinfer', 'fa3')"
    )
    assert (params["option"], params["value"], params["suggest"]) == (
        "--attention-backend",
        "flash_infer",
        "flashinfer",
    )
    assert fixes[0].startswith("**Write `--attention-backend flashinfer`.**")


def test_the_logs_own_usage_text_knows_flags_as_well() -> None:
    usage = usage_flags(
        ["usage: x.py [-h] --model-path MODEL_PATH [--port PORT]", "  [--host HOST]"]
    )
    assert usage == ["--model-path", "--port", "--host"]
    assert (
        read("x.py: error: unrecognized arguments: --prot 1", {}, usage).params["suggest"]
        == "--port"
    )


def test_advice_for_another_phase_is_left_out() -> None:
    fixes = [
        "**At run time: lower it.** x",
        "**While weights are loaded: shard.** y",
        "**Always.** z",
    ]
    assert fitting(fixes, "load") == [fixes[1], fixes[2]]
    assert fitting(fixes, "run") == [fixes[0], fixes[2]]
    assert fitting(fixes, None) == fixes
    assert Facts().ready_line is None


@pytest.mark.wheel
def test_every_flag_the_table_names_is_one_of_the_newest_release() -> None:
    settings = load_settings()
    flags = set(facts_of(fetch("sglang", "0.5.23", settings), settings.index_dir)["flags"])
    assert {n.flag for n in VLLM_FLAGS.values() if n.flag} <= flags
    assert not {f for f, n in VLLM_FLAGS.items() if f in flags and n.flag is None}
