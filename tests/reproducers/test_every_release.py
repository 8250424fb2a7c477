"""Each reproducer, on each release it declares: raised by the real code, fixed, all claims run."""

import pytest

from app.runs import passed
from reproducers.snippets import BROKEN, FIXED, TRY_AND_EXCEPT, TYPE_GUARD, VALIDATOR
from reproducers.solutions import SOLUTIONS
from tests.reproducers.pairs import entry_file, pairs, ran

pytestmark = pytest.mark.wheel

each_pair = pytest.mark.parametrize(("slug", "version"), pairs())


def is_silent(slug: str) -> bool:
    return entry_file(slug).facts.error_type == "silent"


@each_pair
def test_the_trigger_is_this_very_error(slug: str, version: str) -> None:
    """Class, message and place are the entry's, and no stand-in was used on the way."""
    result = ran(slug, version, "trigger")
    assert passed(result, "trigger", silent=is_silent(slug)), (result.reason, result.message)
    assert result.stand_ins_called == []
    assert result.cuts == []


@each_pair
def test_the_fix_passes_and_asserts_its_result(slug: str, version: str) -> None:
    """The same call returns, past the guard's own line, and what it returns was checked."""
    result = ran(slug, version, "fix")
    assert passed(result, "fix"), (result.reason, result.message)
    assert result.guard_reached
    assert result.checks


@each_pair
def test_every_piece_of_the_page_is_executed_and_holds(slug: str, version: str) -> None:
    """Validator, type guard, wrapper and both halves of the example ran, on good and bad input."""
    claims = ran(slug, version, "fix").claims
    assert [c for c in claims if not c["ok"]] == []
    executed = {c["section"] for c in claims} - {"Corrections", SOLUTIONS}
    assert executed == {VALIDATOR, TYPE_GUARD, TRY_AND_EXCEPT, BROKEN, FIXED}
    for section in (VALIDATOR, TYPE_GUARD):
        verdicts = {c["got"] for c in claims if c["section"] == section}
        assert verdicts == {"accepts", "refuses"}, section
    assert sum(c["section"] == TRY_AND_EXCEPT for c in claims) > 1


@each_pair
def test_every_correction_names_a_run_that_shows_it(slug: str, version: str) -> None:
    """The id under a correction is that of a check or a claim that this run recorded."""
    result = ran(slug, version, "fix")
    recorded = {c["id"] for c in result.checks} | {c["id"] for c in result.claims}
    named = {c.run for c in entry_file(slug).corrections}
    assert named <= recorded
    assert named
