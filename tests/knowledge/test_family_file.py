"""Family files are read, and name only families that exist."""

from pathlib import Path

import pytest

from app.exceptions import BadInputError
from app.knowledge.family_file import read_family_file, read_family_files
from app.settings import DATA_DIR

TEXT = '```toml\ntitle = "T"\nsummary = "S"\nnear = [{near}]\n```\n\n## What it is\n\nA thing.\n'


def write(folder: Path, tag: str, near: str = "") -> Path:
    path = folder / f"{tag}.md"
    path.write_text(TEXT.replace("{near}", near), encoding="utf-8")
    return path


def test_a_family_has_facts_and_sections(tmp_path: Path) -> None:
    family = read_family_file(write(tmp_path, "too-big"))
    assert (family.tag, family.facts.title, family.sections) == (
        "too-big", "T", [("What it is", "A thing.")],
    )  # fmt: skip


def test_a_family_that_is_near_must_exist(tmp_path: Path) -> None:
    write(tmp_path, "one", '"two"')
    with pytest.raises(BadInputError, match="near names 'two'"):
        read_family_files(tmp_path)
    write(tmp_path, "two")
    assert set(read_family_files(tmp_path)) == {"one", "two"}


def test_an_unknown_key_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "one")
    path.write_text(path.read_text().replace("summary", "sumary"), encoding="utf-8")
    with pytest.raises(BadInputError, match=r"summary|sumary"):
        read_family_file(path)


def test_every_family_of_the_project_is_read() -> None:
    assert len(read_family_files(DATA_DIR / "families")) > 30
