"""`reprobase search`: the same answer for people and for programs."""

import io
import json

import pytest
from sqlmodel import Session

from app.cli import main
from app.settings import Settings


@pytest.fixture(autouse=True)
def _here(db: Session, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    db.commit()
    monkeypatch.setenv("REPROBASE_DATABASE_URL", settings.database_url)
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(settings.cache_dir))


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main(["search", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_the_records_of_the_list_in_ranked_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = asked(capsys, "top_k", "positive", "--limit", "1")
    assert document["query"] == "top_k positive"
    assert document["total"] >= 1
    assert [r["id"] for r in document["records"]] == ["new"]
    assert {"errorMessage", "errorClass", "backgroundTag", "filePath"} <= document["records"][
        0
    ].keys()
    assert document["datasetVersion"]


def test_filters_narrow_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    records = asked(capsys, "positive", "--release", "sglang==0.5.23")["records"]
    assert [r["id"] for r in records] == ["new"]
    assert asked(capsys, "positive", "--family", "timeout")["records"] == []
    assert asked(capsys, "positive", "--package", "torch")["total"] == 0


def test_a_message_comes_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("ValueError: top_k must be positive, got -1\n"))
    assert asked(capsys, "-")["records"][0]["id"] == "new"


def test_people_get_the_key_the_class_the_place_and_the_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["search", "top_k"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("new  ValueError  ")
    assert "spec_utils.py:130" in out
    assert "top_k must be positive" in out


def test_nothing_found_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "zzzzzz"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Nothing found" in captured.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--limit", "0"], "it goes from 1 to"),
        (["x", "--release", "sglang==9.9.9"], "no release"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["search", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_no_words_are_refused_and_not_taken_for_everything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    for words in ("", " ", "-"):
        assert main(["search", words]) == 2
        assert "nothing to search for" in capsys.readouterr().err
