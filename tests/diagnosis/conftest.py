"""What the tests of diagnosis share: an index of real releases, and one of a tiny engine."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from app.diagnosis.index import Index
from app.diagnosis.matcher import Matcher
from app.knowledge.entry_file import read_entry_files
from app.loading.curated import ERRORS_DIR
from app.loading.index import ReleaseSites, build
from app.loading.index_facts import facts_of
from app.scanner.release import scan_wheel
from app.settings import load_settings
from app.wheels import Wheel, fetch
from tests.diagnosis.engines import ENGINE

RELEASES = ("0.5.8", "0.5.16", "0.5.20", "0.5.23")


@cache
def _wheel(version: str) -> Wheel:
    return fetch("sglang", version, load_settings())


@cache
def _releases() -> Matcher:
    kept = os.environ.get("REPROBASE_TEST_INDEX")
    if kept:
        # an index built before, of as many releases as one likes
        return Matcher(Index(Path(kept)))
    settings = load_settings()
    scans = [
        ReleaseSites(
            "sglang", v, scan_wheel(_wheel(v)).sites, facts_of(_wheel(v), settings.index_dir)
        )
        for v in RELEASES
    ]
    return Matcher(Index(build(scans, read_entry_files(ERRORS_DIR))))


@pytest.fixture(scope="session")
def releases() -> Matcher:
    """Four releases of SGLang, scanned once a session, and all explained entries."""
    return _releases()


@pytest.fixture(scope="session")
def engine() -> Matcher:
    """A tiny engine of two releases, and all explained entries; made in a tenth of a second."""
    return Matcher(Index(build(ENGINE, read_entry_files(ERRORS_DIR))))


@pytest.fixture(scope="session")
def source_of() -> Callable[[str, str, int], str]:
    """Code lines of the engine, out of the wheels in the cache."""
    texts: dict[tuple[str, str], list[str]] = {}

    def line(release: str, path: str, number: int) -> str:
        key = (release, path)
        if key not in texts:
            texts[key] = _wheel(release.partition("==")[2]).read(path).decode().split("\n")
        return texts[key][number - 1].strip()

    return line
