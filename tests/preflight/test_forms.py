"""Every pasted form in `forms/` gives its arguments, its environment and its program."""

import json
from pathlib import Path

import pytest

from app.preflight.command import parse

FORMS = sorted((Path(__file__).parent / "forms").glob("*.txt"))


@pytest.mark.parametrize("path", FORMS, ids=lambda p: p.stem)
def test_a_pasted_form_is_read_as_its_file_says(path: Path) -> None:
    text, _, expected = path.read_text(encoding="utf-8").rpartition("\n=====\n")
    wanted = json.loads(expected)
    command = parse(text)
    assert command.argv == wanted["argv"]
    assert command.env == wanted["env"]
    assert command.program == wanted["program"]
    assert [h.text for h in command.holes] == wanted.get("holes", [])
    if "note" in wanted:
        assert wanted["note"] in " ".join(command.notes)


@pytest.mark.parametrize("path", FORMS, ids=lambda p: p.stem)
def test_each_argument_knows_its_place_in_the_text(path: Path) -> None:
    text, _, _ = path.read_text(encoding="utf-8").rpartition("\n=====\n")
    command = parse(text)
    assert len(command.spans) == len(command.argv)
    for word, (start, end) in zip(command.argv, command.spans, strict=True):
        assert 0 <= start < end <= len(text)
        if word in text and word.startswith("--"):
            assert word.lstrip("-")[:4] in text[start:end].replace("_", "-")


def test_there_are_forms() -> None:
    assert len(FORMS) > 50
