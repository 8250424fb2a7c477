"""PostgreSQL by URL: the same tests as on SQLite, and many web workers over one database."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.db import close_engines
from app.settings import PROJECT_ROOT, Settings
from tests.faults.test_killed import environment
from tests.faults.test_processes import answers, workers
from tests.web.catalogs import ENTRY_ID, fill, wheel_of
from tests.web.conftest import settings_in
from tests.web.postgres import SERVER, postgres

pytestmark = pytest.mark.postgres
SAME = (
    "tests/api/test_errors.py",
    "tests/api/test_releases.py",
    "tests/web/test_catalog_pages.py",
    "tests/web/test_answers.py",
    "tests/http/test_renewal.py",
)
"""Tests that know nothing of the database: the world of each is made by `settings_in`."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of its own."""
    with postgres() as found:
        yield found


def test_what_holds_on_sqlite_holds_on_postgresql(url: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}",
         "-m", "not browser and not wheel", *SAME],
        cwd=PROJECT_ROOT, env=os.environ | {SERVER: url}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
    with psycopg.connect(url) as connection:
        [(made,)] = connection.execute(
            "SELECT count(*) FROM pg_database WHERE datname LIKE 'world_%'"
        ).fetchall()
    assert made >= len(SAME), "their worlds were here"


@pytest.fixture
def shared(url: str, tmp_path: Path) -> Iterator[Settings]:
    """Two toy releases in PostgreSQL."""
    settings = settings_in(tmp_path, DATABASE_URL=url)
    fill(settings, versions=("1.0", "1.1"))
    close_engines()
    yield settings
    close_engines()


def test_many_workers_over_one_database_answer_while_a_release_is_stored(
    shared: Settings, tmp_path: Path
) -> None:
    """Two sites of two workers each: none fails, and all four show the new release soon."""
    wheel = wheel_of(tmp_path / "new", "2.0")
    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(workers(shared, 2))[0] for _ in range(2)]
        assert all(answers(site) for site in sites)
        scan = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "scan", "--wheel", str(wheel)],
            cwd=PROJECT_ROOT, env=environment(shared), stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        seen: Counter[int] = Counter()
        with ThreadPoolExecutor(8) as pool:
            while scan.poll() is None:
                seen.update(pool.map(lambda n: status(sites[n % 2], n), range(16)))
        assert scan.returncode == 0
        assert set(seen) == {200}, seen
        assert sum(seen.values()) >= 16
        end = time.monotonic() + 30
        while not all(knows(site) for site in sites for _ in range(8)):
            assert time.monotonic() < end, "a worker still shows the old releases"
            time.sleep(0.2)


def status(site: str, number: int) -> int:
    paths = (
        f"/api/errors/{ENTRY_ID}",
        "/errors",
        "/api/releases",
        f"/errors/{ENTRY_ID}?n={number}",
    )
    with urllib.request.urlopen(f"{site}{paths[number % 4]}", timeout=60) as answer:
        return int(answer.status)


def knows(site: str) -> bool:
    """Whether whoever answers now has the new release."""
    with urllib.request.urlopen(f"{site}/api/releases", timeout=60) as answer:
        found: Any = json.load(answer)
    return "2.0" in json.dumps(found)
