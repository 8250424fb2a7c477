"""Entry files are read to the last heading, and every mistake is told with file and line."""

from pathlib import Path

import pytest

from app.knowledge.entry_file import BadFileError, read_entry_file, read_entry_files
from app.settings import DATA_DIR
from tests.knowledge.files import GOOD, entry_path


def test_every_section_of_a_good_file_arrives(tmp_path: Path) -> None:
    entry = read_entry_file(entry_path(tmp_path))
    assert entry.slug == "too-few-rows"
    assert entry.title == "The table has fewer rows than the batch needs"
    assert entry.lead == "The table was made for fewer rows than this batch brings."
    assert [s.title for s in entry.solutions] == ["Make the table larger", "Send fewer rows"]
    assert entry.solutions[0].text.endswith("```diff\n- --rows 8\n+ --rows 16\n```")
    assert entry.example_fix is not None
    assert entry.example_fix.model_dump() == {
        "language": "python", "broken": "table(8).take(16)", "fixed": "table(16).take(16)",
    }  # fmt: skip
    assert entry.not_this_if == ["the message speaks of *columns*.", "the table is empty."]
    assert entry.why.startswith("One row a request.")
    assert "## this is a comment" in entry.why
    assert entry.trigger_scenarios == ["Sixteen requests at once."]
    assert entry.common_situations == ["A test with a small table."]
    assert entry.prevention_tips == ["Derive both from one setting."]
    assert set(entry.snippets()) >= {"Validation code", "Type guard", "Try and except"}
    assert entry.corrections[0].model_dump() == {
        "said": "The table grows by itself.", "code_does": "It is refused.",
        "run": "table-is-refused",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('tags = ["rows"]', 'tagz = ["rows"]', 9, "unknown key 'tagz'"),
        ('package = "sglang"\n', "", 1, "the key 'package' is missing"),
        ('"exception"', '"problem"', 4, "error_type 'problem' is none of exception, assertion"),
        ('"stops-server"', '"bad"', 7, "severity 'bad' is none of"),
        ('tags = ["rows"]', "tags = [rows]", 9, "not TOML"),
        ('tags = ["rows"]', 'places = ["a::b"]', 9, "places stand only where raised_by"),
        ('tags = ["rows"]', 'match = "("', 9, "match is no regular expression"),
        ('tags = ["rows"]', 'condition = "assert a"', 5, "give the message, or the condition"),
        ("## Why\n", "## Reason\n", 41, "unknown heading 'Reason'"),
        ("## Why\n", "## Solutions\n", 41, "'Solutions' stands twice or after 'Not this if'"),
        ("## Not this if\n\n- the message speaks of *columns*.\n- the table is empty.\n\n", "",
         81, "the section 'Not this if' is missing"),
        ("- the message speaks", "the message speaks", 38, "expected a bullet list"),
        ("1. **Make the table larger.**", "1. Make the table larger.", 19, "begins with its title"),
        ("1. **Make", "- **Make", 19, "expected a numbered list"),
        ("```python fixed", "```python mended", 29, "expected two fences"),
        ("def validate(", "def check(", 59, "the code must define `validate(...)`"),
        ("def is_large_enough(", "def large(", 67, "the code must define `is_…(...)`"),
        ("    return rows >= wanted\n", "    return rows >=\n", 69, "not Python"),
        ("**Run:** `table-is-refused`", "", 88, "a correction reads"),
        ("# The table has", "The table has", 13, "expected the title"),
        ("## Why\n", "## Why\n\n# Again\n", 43, "a second title"),
        ("    except ValueError:\n        return None\n```\n", "", 74, "this fence is not closed"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    """One thing is wrong at a time; the message names file, line and what was expected."""
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    path = entry_path(tmp_path, text)
    with pytest.raises(BadFileError) as caught:
        read_entry_file(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_file_needs_its_fence_its_lead_and_a_slug_for_a_name(tmp_path: Path) -> None:
    for text, name, said in (
        ("# Title\n", "a-b", "expected the file to start with a ```toml fence"),
        ("```toml\n", "a-b", "the ```toml fence is not closed"),
        ("", "a-b", "expected the file to start"),
        (GOOD.replace("The table was made for fewer rows than this batch brings.\n", ""), "a-b",
         "sentences of meaning are missing"),
        (GOOD.replace("batch brings.\n", "batch brings.\n\nMore.\n"), "a-b", "only one paragraph"),
        (GOOD, "Not_A_Slug", "is no slug"),
    ):  # fmt: skip
        with pytest.raises(BadFileError, match="a") as caught:
            read_entry_file(entry_path(tmp_path, text, name))
        assert said in str(caught.value)


def test_a_third_party_error_needs_less(tmp_path: Path) -> None:
    head, rest = GOOD.split("## Solutions")
    solutions = rest.split("## Example fix", maxsplit=1)[0]
    text = (
        head.replace('"sglang"', '"torch"')
        + f"## Solutions{solutions}## Not this if\n\n- never\n\n## Why\n\nBecause.\n"
    )
    entry = read_entry_file(entry_path(tmp_path, text))
    assert entry.validation_code is None
    assert entry.corrections == []
    with pytest.raises(BadFileError, match="'Example fix' is missing"):
        read_entry_file(entry_path(tmp_path, text.replace('"torch"', '"sglang"')))


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a-b.md"
    path.write_bytes(b"```toml\n\xff\xfe\n```\n")
    with pytest.raises(BadFileError, match="is not UTF-8"):
        read_entry_file(path)


def test_every_entry_file_of_the_project_is_read() -> None:
    entries = read_entry_files(DATA_DIR / "errors")
    assert len({entry.slug for entry in entries}) == len(entries) > 0
