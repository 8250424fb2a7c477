"""Launch lines on real releases: refused by the release's own check, corrected, or passed."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from app.preflight.report import Report
from app.services.preflight import Question, check
from app.services.preflight_warm import WarmPool
from app.settings import DATA_DIR, Settings

LINES = json.loads((Path(__file__).parent / "lines.json").read_text(encoding="utf-8"))
BY_RELEASE = sorted(
    (
        (version, case.get("gpu", "h200"), case["line"], wanted)
        for case in LINES
        for version, wanted in case["on"].items()
    ),
    key=lambda c: (c[0], c[1]),
)


def _check(line: str, version: str, gpu: str | None, settings: Settings, pool: WarmPool) -> Report:
    question = Question(line=line, release=f"sglang=={version}", gpu=gpu)
    return check(question, settings, pool=pool)


@pytest.mark.wheel
@pytest.mark.parametrize("case", BY_RELEASE, ids=lambda c: f"{c[0]}-{c[1]}-{c[2][-60:]}")
def test_a_line_is_refused_by_its_own_check_or_passes(
    case: tuple[str, str, str, list[str] | None], settings: Settings, pool: WarmPool
) -> None:
    version, gpu, line, wanted = case
    report = _check(line, version, gpu, settings, pool)
    if wanted is None:
        assert report.verdict == "pass", report.findings
        assert report.exit_code == 0
        return
    error_class, words, corrected = wanted
    assert report.verdict == "fail"
    assert report.exit_code == 1
    first = next(f for f in report.findings if f.level == "error")
    assert first.error_class == error_class
    assert words in first.message
    assert first.entry_id, "every refusal has an entry"
    assert first.site, "every refusal has its place in the release"
    assert first.site["file"].startswith("sglang/")
    assert first.flag
    if corrected:
        assert first.suggested_command
        assert corrected in first.suggested_command
        assert any(p["op"] != "keep" for p in first.difference)


@pytest.mark.wheel
def test_a_corrected_line_passes_when_it_is_checked_itself(
    settings: Settings, pool: WarmPool
) -> None:
    line = (
        "CUDA_VISIBLE_DEVICES=0 python -m sglang.launch_server --model-path Qwen/Qwen3-8B "
        "--reasoning_parser qwen3 --enable-hierarchical-cache --disable-radix-cache --tp eight"
    )
    report = _check(line, "0.5.23", "h200", settings, pool)
    errors = [f for f in report.findings if f.level == "error"]
    assert len(errors) == 3
    assert report.corrected_command
    again = _check(report.corrected_command, "0.5.23", "h200", settings, pool)
    assert again.verdict == "pass"


@pytest.mark.wheel
def test_a_model_that_nobody_knows_is_checked_as_what_it_may_be(
    settings: Settings, pool: WarmPool
) -> None:
    line = "python -m sglang.launch_server --model-path somebody/unheard-of --tp 8"
    report = _check(line, "0.5.23", "h200", settings, pool)
    assert report.verdict == "pass"
    assert any("unheard-of" in s.check and "config.json" in s.missing for s in report.skipped)


@pytest.mark.wheel
def test_what_depends_on_the_model_cannot_be_told_without_it(
    settings: Settings, pool: WarmPool
) -> None:
    line = (
        "python -m sglang.launch_server --model-path <model> --tp 8 --speculative-algorithm EAGLE "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    )
    report = _check(line, "0.5.10", "h200", settings, pool)
    assert report.verdict == "cannot-tell"
    assert report.exit_code == 3
    assert any("refused if the model is like" in s.check for s in report.skipped)
    assert report.asked == [{"placeholder": "<model>", "flag": "--model-path"}]


@pytest.mark.wheel
def test_a_given_configuration_decides(settings: Settings, pool: WarmPool) -> None:
    line = (
        "python -m sglang.launch_server --model-path ./mine --tp 8 --speculative-algorithm NEXTN "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    )
    presets = DATA_DIR / "configs"
    for name, verdict in (("qwen3_5_moe", "fail"), ("deepseek_v3", "pass")):
        config = json.loads((presets / f"{name}.json").read_text())["config"]
        question = Question(
            line=line, release="sglang==0.5.10", gpu="h200", config_text=json.dumps(config)
        )
        assert check(question, settings, pool=pool).verdict == verdict


@pytest.mark.wheel
@pytest.mark.skipif("REPROBASE_CASES" not in os.environ, reason="no folder of cases was given")
def test_every_case_of_the_given_folder_is_right(settings: Settings, pool: WarmPool) -> None:
    cases: list[dict[str, Any]] = json.loads(
        (Path(os.environ["REPROBASE_CASES"]) / "commands.json").read_text()
    )
    wrong = []
    for case in sorted(cases, key=lambda c: str(c["version"])):
        report = _check(case["command"], case["version"], None, settings, pool)
        template = case["expected_error_template"]
        if template is None:
            right = report.verdict == "pass"
        else:
            pattern = ".*".join(map(re.escape, re.split(r"\{[^}]*\}", template)))
            first = next((f for f in report.findings if f.level == "error"), None)
            right = bool(first and re.search(pattern, first.message, re.DOTALL))
        if not right:
            wrong.append((case["command"], report.verdict, report.findings))
    assert not wrong
