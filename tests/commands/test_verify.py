"""`reprobase verify`: what is run on what, and numbers that mean nothing are refused before."""

from pathlib import Path

import pytest

from app.cli import main
from app.commands.running import find_targets
from app.commands.verifying import pieces_of
from app.settings import Settings, load_settings


@pytest.mark.parametrize("option", ["--jobs", "--seconds"])
@pytest.mark.parametrize("given", ["0", "-3"])
def test_nothing_and_less_are_refused(
    option: str, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "unknown-speculative-phase", option, given]) == 2
    said = capsys.readouterr()
    assert said.err == f"reprobase verify: {option} is {given}; it takes more than 0.\n"
    assert said.out == ""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Nothing was scanned, so only what the reproducers declare counts."""
    return load_settings({"REPROBASE_DATABASE_URL": f"sqlite:///{tmp_path / 'catalog.db'}"})


def test_all_errors_on_a_subject_are_those_that_have_it(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = pieces_of([], ["reference"], "cpu", None, settings)
    every = find_targets([], settings)
    having = [t.entry.slug for t in every if t.reproducer.has_reference]
    assert [p.target.entry.slug for p in pieces] == having
    assert {p.subjects for p in pieces} == {("reference",)}
    left = len(every) - len(having)
    assert left > 0
    said = f"{left} of {len(every)} reproducers do not declare reference\n"
    assert capsys.readouterr().err == said


def test_an_error_that_was_named_is_run_on_what_was_named(settings: Settings) -> None:
    without = next(
        t.entry.slug for t in find_targets([], settings) if not t.reproducer.has_reference
    )
    (piece,) = pieces_of([without], ["reference"], "cpu", None, settings)
    assert piece.subjects == ("reference",)
