"""The parts of an answer: difference, releases in words, SARIF, flags, GPUs, environment."""

import json
from pathlib import Path

import pytest

from app.diagnosis.vllm_flags import VLLM_FLAGS
from app.exceptions import BadInputError, TooLargeError
from app.preflight import flags
from app.preflight.command import parse
from app.preflight.configs import check_config, preset_for, presets, read_cache, read_folder
from app.preflight.difference import difference, rendered
from app.preflight.environment import passed_on
from app.preflight.gpus import ALIASES, GPUS, assumed_gpu, named_gpu
from app.preflight.models import models_of, value_of
from app.preflight.report import Finding, Report, Skipped
from app.preflight.sarif import as_sarif
from app.services.preflight_holds import by_asking, by_parsers
from reproducers.upstream.platforms import platform_named


def test_a_correction_keeps_what_stands_around_the_arguments() -> None:
    text = "A=1 docker run -e B=2 img python -m sglang.launch_server --x_y 1 'a b' 2>&1 | tee log"
    command = parse(text)
    line = rendered(command, ["--x-y", "1", "a b"], command.env)
    assert line == (
        "A=1 docker run -e B=2 img python -m sglang.launch_server --x-y 1 'a b' 2>&1 | tee log"
    )
    with_env = rendered(command, ["--x-y", "1"], {**command.env, "SGLANG_X": "1"})
    assert "docker run -e SGLANG_X=1 -e B=2" in with_env


def test_a_correction_of_a_manifest_is_a_plain_command() -> None:
    command = parse('command: [python3, -m, sglang.launch_server]\nargs: [--x_y, "1"]')
    assert rendered(command, ["--x-y", "1"], {}) == "python -m sglang.launch_server --x-y 1"


def test_a_continued_line_becomes_one_line() -> None:
    command = parse("A=1 python -m sglang.launch_server \\\n  --x 1 \\\n  --y 2")
    assert (
        rendered(command, ["--x", "1"], command.env) == "A=1 python -m sglang.launch_server --x 1"
    )


def test_the_difference_marks_each_word() -> None:
    parts = difference(["--a", "1", "--b"], {}, ["--a", "2"], {"E": "1"})
    assert [(p["op"], p["text"]) for p in parts] == [
        ("add", "E=1"),
        ("keep", "--a"),
        ("remove", "1 --b"),
        ("add", "2"),
    ]


def test_releases_are_told_as_stretches() -> None:
    said = {"0.5.17": "refused", "0.5.18": "refused", "0.5.19": "refused", "0.5.20": "accepted"}
    said |= {"0.5.21": "accepted", "0.5.12": "unreachable"}
    holds = by_asking("0.5.16", said, ["0.5.10", *said])
    assert holds.text == (
        "refused in 0.5.16 to 0.5.19, accepted from 0.5.20, cannot be told in 0.5.12, "
        "not asked: 0.5.10"
    )
    assert holds.not_asked == ["0.5.10"]


def test_a_flag_that_came_is_told_with_its_release() -> None:
    message = "error: unrecognized arguments: --served-model-name x"
    holds = by_parsers(message, "--served-model-name", "diffusion")
    assert holds is not None
    assert "0.5.17" in holds.refused
    assert "0.5.18" in holds.accepted
    assert flags.came_or_went("--served-model-name", "diffusion", "0.5.16") == (
        "`--served-model-name` came with 0.5.18."
    )


def test_a_flag_that_went_is_told_with_its_last_release() -> None:
    assert flags.came_or_went("--enable-gdn-replayssm-spec", "launch_server", "0.5.23") == (
        "`--enable-gdn-replayssm-spec` was last in 0.5.19."
    )


def test_every_translation_leads_to_a_flag_that_some_release_has() -> None:
    for flag, words in flags.translations().items():
        for each in words:
            for word in each:
                assert flags.releases_with(word, "launch_server"), f"{flag} -> {word}"
    assert len(VLLM_FLAGS) > 20


def test_sarif_points_at_the_flag_in_its_file() -> None:
    finding = Finding(
        level="error",
        message="no",
        flag="--x",
        entry_id="0" * 16,
        suggestion="Remove it.",
        position={
            "startLine": 2,
            "startColumn": 3,
            "endLine": 2,
            "endColumn": 6,
            "offset": 9,
            "length": 3,
        },
    )
    report = Report(
        release="sglang==0.5.23", gpu="h200", program="launch_server", argv=[], env={}, notes=[],
        verdict="fail", findings=[finding], skipped=[Skipped(check="c", missing="m")],
    )  # fmt: skip
    document = json.loads(json.dumps(as_sarif([(report, "run.sh")], "1")))
    assert document["version"] == "2.1.0"
    [run] = document["runs"]
    first, second = run["results"]
    region = first["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["charOffset"]) == (2, 3, 9)
    assert first["level"] == "error"
    assert "Remove it." in first["message"]["text"]
    assert second["kind"] == "open"
    assert {r["ruleId"] for r in run["results"]} <= {
        r["id"] for r in run["tool"]["driver"]["rules"]
    }


def test_each_gpu_that_is_offered_can_be_simulated() -> None:
    for gpu in GPUS:
        assert platform_named(gpu).name in (GPUS[gpu], "")
    assert set(ALIASES.values()) <= set(GPUS)


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("H100", "h100"),
        ("sm120", "rtx5090"),
        ("NVIDIA B200", "b200"),
        ("RTX 5090", "rtx5090"),
        ("cpu", "cpu"),
    ],
)
def test_a_gpu_is_found_by_its_names(name: str, gpu: str) -> None:
    assert named_gpu(name) == gpu


def test_an_unknown_gpu_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInputError, match="h100, h200, b200"):
        named_gpu("voodoo")


def test_a_line_says_which_gpu_it_is_for() -> None:
    assert assumed_gpu(["--attention-backend", "trtllm_mha"])[0] == "b200"
    assert assumed_gpu(["--attention-backend=aiter"])[0] == "mi300x"
    assert assumed_gpu(["--device", "cpu"])[0] == "cpu-amx"
    assert assumed_gpu(["--tp", "2"])[0] == "h200"


def test_dangerous_and_secret_variables_are_left_out_and_named() -> None:
    env, notes = passed_on(
        {
            "LD_PRELOAD": "/x.so",
            "PYTHONPATH": "/x",
            "PATH": "/x",
            "HF_TOKEN": "s",
            "SGLANG_X": "1",
            "HF_HOME": "/y",
        }
    )
    assert env == {"SGLANG_X": "1"}
    for name in ("LD_PRELOAD", "PYTHONPATH", "PATH", "HF_TOKEN"):
        assert name in notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[1]", "holds no JSON object"),
        ('{"temperature": 1}', "generation configuration"),
        ('{"peft_type": "LORA"}', "LoRA adapter"),
        ('{"_diffusers_version": "1"}', "diffusion pipeline"),
        ('{"architectures": "Llama"}', "must be a list"),
        ('{"model_type": 5}', "`model_type` must be a name, it is 5"),
        ('{"model_type": "a", "num_attention_heads": "many"}', "whole number"),
        ('{"model_type": "a", "text_config": {"head_dim": true}}', "`text_config.head_dim`"),
    ],
)
def test_a_config_of_the_wrong_kind_is_named(text: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        check_config(text, "config.json")


def test_a_huge_config_is_refused() -> None:
    with pytest.raises(TooLargeError):
        check_config('{"a": "' + "x" * (3 << 20) + '"}', "config.json")


def test_a_folder_without_a_config_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"holds no config\.json"):
        read_folder(tmp_path)
    with pytest.raises(BadInputError, match="is not there"):
        read_folder(tmp_path / "nowhere")


def test_a_config_is_found_in_the_hugging_face_cache(tmp_path: Path) -> None:
    snapshot = tmp_path / "hub" / "models--a--b" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"model_type": "llama"}')
    found = read_cache("a/b", {"HF_HOME": str(tmp_path)})
    assert found is not None
    assert found.origin == "cache"
    assert read_cache("a/c", {"HF_HOME": str(tmp_path)}) is None
    assert read_cache("../../etc", {"HF_HOME": str(tmp_path)}) is None


@pytest.mark.parametrize(
    ("model", "about"),
    [
        ("Qwen/Qwen3.5-397B-A17B", "Qwen3.5 397B"),
        ("Qwen/Qwen3-8B", "Qwen3 32B"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen3-Next"),
        ("Qwen/Qwen3-30B-A3B", "Qwen3 235B"),
        ("moonshotai/Kimi-K2-Thinking", "Kimi K2 Thinking"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "Llama"),
        ("lmsys/EAGLE3-gpt-oss-120b-bf16", "EAGLE-3 draft"),
        ("/data/models/GLM-4.6", "GLM-4.5"),
        ("zai-org/GLM-5-FP8", "GLM-5"),
    ],
)
def test_a_models_name_points_to_its_family(model: str, about: str) -> None:
    found = preset_for(model)
    assert found is not None
    assert about in found.about


def test_a_quantized_name_gives_a_quantized_config() -> None:
    found = preset_for("Qwen/Qwen3-8B-AWQ")
    assert found is not None
    assert json.loads(found.text)["quantization_config"]["quant_method"] == "awq"
    assert preset_for("somebody/unheard-of") is None


def test_every_preset_is_a_config_that_would_be_taken() -> None:
    assert len(presets()) >= 20
    for name, preset in presets().items():
        check_config(json.dumps(preset.config), name)
        assert preset.models
        assert preset.about


def test_a_path_on_a_line_from_the_web_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    models = models_of(
        ["--model-path", str(tmp_path)], positional=False, look=lambda _m: None, given=None
    )
    assert models.unknown == [str(tmp_path)]


def test_the_last_value_of_a_flag_counts() -> None:
    assert value_of(["--model", "a", "--model-path=b"], ("--model", "--model-path")) == "b"
