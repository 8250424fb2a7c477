"""Families that were worked out before are found again, and never those of other rules."""

from pathlib import Path

from app.scanner.families import TAGS
from app.scanner.family_memory import FamilyMemory

STATE = "0123456789abcdef"


def filled(path: Path) -> FamilyMemory:
    memory = FamilyMemory(path, STATE)
    memory[memory.key("ValueError", "a", "raise", "")] = TAGS[3]
    memory[memory.key("ValueError", "b", "raise", "")] = None
    memory.keep()
    return FamilyMemory(path, STATE)


def test_what_was_kept_is_known_again_and_no_family_is_an_answer_too(tmp_path: Path) -> None:
    memory = filled(tmp_path / "deep" / "memory")
    a, b, c = (memory.key("ValueError", text, "raise", "") for text in "abc")
    assert a in memory
    assert memory[a] == TAGS[3]
    assert b in memory
    assert memory[b] is None
    assert c not in memory


def test_another_state_of_the_rules_or_a_damaged_file_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    key = filled(path).key("ValueError", "a", "raise", "")
    assert key in FamilyMemory(path, STATE)
    assert key not in FamilyMemory(path, "f" * 16)
    path.write_bytes(path.read_bytes()[:-1])
    assert key not in FamilyMemory(path, STATE)


def test_without_a_file_or_with_a_folder_in_its_place_nothing_is_kept(tmp_path: Path) -> None:
    for path in (None, tmp_path):
        memory = FamilyMemory(path, STATE)
        memory[memory.key("x")] = TAGS[0]
        memory.keep()
        assert memory.key("x") in memory
        assert memory.key("x") not in FamilyMemory(path, STATE)
