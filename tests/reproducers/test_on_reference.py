"""Each reproducer whose guard the reference has: raised and fixed there, in the engine's words."""

import pytest

from app.runs import passed
from app.runs.subjects import REFERENCE
from tests.reproducers.pairs import entry_file, on_reference, ran

each = pytest.mark.parametrize("slug", on_reference())


def test_thirty_errors_have_their_guard_in_the_reference() -> None:
    """A reproducer that stops declaring the reference is noticed."""
    assert len(on_reference()) > 30


@each
def test_the_reference_raises_the_same_error(slug: str) -> None:
    """Class and message are the entry's, and it left the reference's own guard."""
    result = ran(slug, REFERENCE, "trigger")
    assert passed(result, "trigger"), (result.reason, result.message)
    assert result.error_class == entry_file(slug).facts.error_class
    assert result.site is not None
    assert result.site.file.startswith("reproducers/reference/")


@each
def test_the_fix_passes_the_references_guard(slug: str) -> None:
    """The same call returns past it, its result was checked, and the page's code holds."""
    result = ran(slug, REFERENCE, "fix")
    assert passed(result, "fix"), (result.reason, result.message)
    assert [c for c in result.claims if not c["ok"]] == []
