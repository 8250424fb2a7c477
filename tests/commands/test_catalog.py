"""`show`, `export` and `load`: the catalog on the command line, with exit codes of use."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from app.cli import main
from app.db import close_engines, session
from app.models import Run
from app.settings import load_settings

KDA = "kda-verify-exceeds-scratch-steps"
KDA_ID = "54919db54a9458bf"


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A database and a cache of its own; the curated files are the project's."""
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'catalog.db'}")
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    yield
    close_engines()


def test_show_tells_what_the_page_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", KDA_ID]) == 0
    out = capsys.readouterr().out
    assert out.startswith("RuntimeError: KDA verify needs {draft_token_num} scratch steps")
    for part in ("Fixes", "Not this if", "Broken", "Fixed", "Why", "Said, and not so",
                 f"reprobase run {KDA}", f"also {KDA_ID}"):  # fmt: skip
        assert part in out
    assert max(map(len, out.splitlines())) < 140
    assert "\x1b" not in out, "no colours into a pipe"


def test_show_as_json_is_the_document_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", KDA, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"record", "datasetVersion"}
    assert document["record"]["slug"] == KDA
    assert main(["show", KDA, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document


def test_show_as_markdown_begins_with_the_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", KDA, "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# ")
    assert "```python" in out


def test_an_unknown_key_ends_in_two_with_near_matches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "kda-verify-exceeds-scratch-stepz"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert KDA in captured.err


def test_export_gives_every_entry_in_each_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--format", "ndjson", "--package", "sglang"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert KDA in {row["slug"] for row in rows}
    assert main(["export", "--format", "json", "--package", "sglang"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == rows
    assert main(["export", "--format", "sarif", "--package", "sglang"]) == 0
    sarif = json.loads(capsys.readouterr().out)
    assert sarif["version"] == "2.1.0"
    [run] = sarif["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [r["slug"] for r in rows]


def test_load_brings_everything_back_and_keeps_local_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with session(load_settings()) as db:
        db.add(Run(id="c" * 16, entry_id="x", step="trigger", subject="sglang==0.5.23"))
    assert main(["load", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["explained"] > 5
    assert first["runs"] == first["evidence"] + 1
    assert main(["load", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first, "loading twice changes nothing"
    with session(load_settings()) as db:
        local = db.exec(select(Run).where(Run.origin == "local")).all()
        assert [run.id for run in local] == ["c" * 16]


def test_serve_tells_which_port_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 3
    assert f"Port {port}" in capsys.readouterr().err
    assert main(["serve", "--workers", "0"]) == 2
