"""Toy releases for the tests of this folder."""

from pathlib import Path

import pytest

from tests.runs.toys import Toys, toys_in


@pytest.fixture
def toys(tmp_path: Path) -> Toys:
    """Makes toy releases in a cache of its own."""
    return toys_in(tmp_path)
