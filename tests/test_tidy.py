"""Promises between files, each held here; an exemption that is no longer needed fails as well."""

import importlib
import re
import subprocess
import tomllib
from pathlib import Path

from app.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 350
"""Lines; a longer file answers two questions."""
LONG_FILES: dict[str, str] = {}
"""File -> why it may be longer."""
EMPTY_NAMES = {"utils", "helpers", "common", "base", "manager", "misc"}


def tracked(*patterns: str) -> list[Path]:
    """Files under version control, or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def test_no_file_of_code_answers_two_questions() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in tracked("*.py")
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert sorted(long) == sorted(LONG_FILES), f"too long, or no longer exempt: {long}"


def test_no_file_is_named_for_nothing() -> None:
    assert [p for p in tracked("*.py") if p.stem in EMPTY_NAMES] == []


def test_every_command_of_the_table_has_its_module_and_the_other_way_round() -> None:
    modules = {p.stem for p in (ROOT / "app/commands").glob("*.py")} - {"__init__"}
    loaded = {name: importlib.import_module(f"app.commands.{name}") for name in modules}
    commands = {name for name, module in loaded.items() if hasattr(module, "add_arguments")}
    assert commands == set(COMMANDS)
    assert all(callable(loaded[name].run) for name in commands)


def test_every_ignored_rule_has_its_reason_beside_it() -> None:
    marks = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z0-9-, ]+\])(?P<reason>.*)")
    bare = [
        f"{path.relative_to(ROOT)}:{n}: {line.strip()}"
        for path in tracked("*.py")
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"#\s*(noqa|type: ignore)\s*$", line)
        or any(not re.search(r"[a-z]{3}", mark["reason"]) for mark in marks.finditer(line))
    ]
    assert bare == []


def test_direct_dependencies_are_pinned_the_same_in_both_places() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    lock = (ROOT / "requirements.lock").read_text().lower()
    pins = dict(re.findall(r"^([a-z0-9_.-]+)==(\S+)$", lock, re.MULTILINE))
    pins = {name.replace("_", "-"): version for name, version in pins.items()}
    for line in wanted:
        pin = re.match(r"([\w.-]+)(?:\[\w+\])?==([\w.]+)", line.lower())
        assert pin, f"{line} is not pinned"
        name, version = pin.groups()
        assert pins.get(name.replace("_", "-")) == version, f"{name} is {version} in pyproject.toml"


def test_every_hand_written_reproducer_has_its_entry_file() -> None:
    modules = {p.stem for p in (ROOT / "reproducers/errors").glob("*.py")} - {"__init__"}
    entries = {p.stem.replace("-", "_") for p in (ROOT / "data/errors").glob("*.md")}
    assert modules <= entries


def test_every_evidence_file_belongs_to_an_entry() -> None:
    evidence = {p.stem for p in (ROOT / "data/evidence").glob("*.jsonl")}
    assert evidence <= {p.stem for p in (ROOT / "data/errors").glob("*.md")}
