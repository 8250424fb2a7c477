"""Test processes that work side by side share the results of runs, in pytest's own folder."""

import os

import pytest

from tests.reproducers import pairs


@pytest.fixture(autouse=True, scope="session")
def _shared_results(tmp_path_factory: pytest.TempPathFactory) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        pairs.shared_folder = tmp_path_factory.getbasetemp().parent / "runs"
