"""`reprobase preflight` on the command line: exit codes, formats, and what it leaves untouched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.settings import DATA_DIR

LINE = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2"


def _run(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.cli", "preflight", *arguments]
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
        timeout=300,
    )


def _words(line: str) -> list[str]:
    return ["--", *line.split()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--", ""], "empty"),
        (["--", "vllm", "serve", "x"], "not SGLang"),
        (["--release", "sglang", *_words(LINE)], "PACKAGE==VERSION"),
        (["--release", "vllm==0.10.0", *_words(LINE)], "not of vllm"),
        (["--gpu", "voodoo", *_words(LINE)], "cannot be simulated"),
        (["--config", "/nowhere/at/all", *_words(LINE)], "is not there"),
        (["--file", "/nowhere/at/all"], "cannot be read"),
        (["--file", "x", *_words(LINE)], "not both"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = _run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_megabyte_on_standard_input_is_refused() -> None:
    done = _run("--file", "-", stdin="x" * (1 << 20))
    assert done.returncode == 2
    assert "characters" in done.stderr


def test_a_release_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    done = _run(
        "--release", "sglang==0.5.9999", *_words(LINE),
        REPROBASE_CACHE_DIR=str(tmp_path), PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_CONFIG_FILE=os.devnull,
    )  # fmt: skip
    assert done.returncode in (2, 3)
    assert "0.5.9999" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.wheel
def test_a_line_that_passes_ends_with_0_and_one_that_is_refused_with_1() -> None:
    done = _run("--release", "sglang==0.5.23", "--gpu", "b200", "--json", *_words(LINE))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "pass"
    assert document["command"]["argv"] == LINE.split()[3:]
    assert any("network: none" in m for m in document["isolation"])
    refused = _run("--release", "sglang==0.5.23", *_words(LINE + " --reasoning_parser qwen3"))
    assert refused.returncode == 1
    assert "--reasoning-parser" in refused.stdout


@pytest.mark.wheel
def test_a_file_of_the_user_is_not_touched(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text((DATA_DIR / "configs" / "llama.json").read_text())
    config = json.loads((model / "config.json").read_text())["config"]
    (model / "config.json").write_text(json.dumps(config))
    (model / "modeling_evil.py").write_text(f"open({str(tmp_path / 'evil')!r}, 'w')")
    before = sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*"))
    line = f"python -m sglang.launch_server --model-path {model} --trust-remote-code"
    done = _run("--release", "sglang==0.5.23", "--json", *_words(line))
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["models"][0]["origin"] == "folder"
    assert sorted((p, p.stat().st_mtime_ns) for p in tmp_path.rglob("*")) == before


@pytest.mark.wheel
def test_sarif_points_into_the_file(tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(
        "#!/bin/bash\nset -e\npython -m sglang.launch_server \\\n  --model-path Qwen/Qwen3-8B \\\n"
        "  --reasoning_parser qwen3\n"
    )
    done = _run("--release", "sglang==0.5.23", "--format", "sarif", "--file", str(script))
    assert done.returncode == 1
    [run] = json.loads(done.stdout)["runs"]
    first = next(r for r in run["results"] if r["level"] == "error")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == str(script)
    assert place["region"]["startLine"] == 5
    assert place["region"]["startColumn"] == 3
