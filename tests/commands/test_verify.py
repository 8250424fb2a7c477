"""`reprobase verify` refuses numbers that mean nothing, before it runs anything."""

import pytest

from app.cli import main


@pytest.mark.parametrize("option", ["--jobs", "--seconds"])
@pytest.mark.parametrize("given", ["0", "-3"])
def test_nothing_and_less_are_refused(
    option: str, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "unknown-speculative-phase", option, given]) == 2
    said = capsys.readouterr()
    assert said.err == f"reprobase verify: {option} is {given}; it takes more than 0.\n"
    assert said.out == ""
