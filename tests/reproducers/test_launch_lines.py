"""Launch lines as pages and reproducers write them."""

import json
import tempfile
from pathlib import Path

import pytest

from reproducers.calls.launch import LLAMA, QWEN3_NEXT, ModelConfig, flags_of, line_of, model_folder

LINES = [
    ("--tp-size 2", ["--tp-size", "2"]),
    ("python -m sglang.launch_server --tp-size 2", ["--tp-size", "2"]),
    ("$ A=1 python3 -m sglang.launch_server \\\n    --x 'a b'", ["--x", "a b"]),
    ("sglang serve --tp-size 2  # two GPUs", ["--tp-size", "2"]),
]


@pytest.mark.parametrize(("line", "flags"), LINES)
def test_the_flags_of_a_line_are_what_stands_behind_the_server(line: str, flags: list[str]) -> None:
    assert flags_of(line) == flags


def test_options_become_flags_and_what_is_off_is_left_out() -> None:
    options = {"dp_size": 2, "enable_mis": True, "page_size": None, "skip": False, "path": "a b"}
    assert line_of(options) == "--dp-size 2 --enable-mis --path 'a b'"
    assert flags_of(line_of(options))[-1] == "a b"


def test_a_model_folder_holds_its_config_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = model_folder(LLAMA)
    assert [p.name for p in folder.iterdir()] == ["config.json"]
    assert json.loads((folder / "config.json").read_text()) == dict(LLAMA)


def test_a_hybrid_model_says_which_layers_are_which() -> None:
    config = ModelConfig(QWEN3_NEXT)
    assert config.full_attention_layer_ids == [3]
    assert config.linear_layer_ids == [0, 1, 2]
    assert ModelConfig(LLAMA).linear_layer_ids == []
