"""A disk that is full, a clock that jumps, a database that is locked or older."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select
from starlette.testclient import TestClient

from app import db as database
from app.db import close_engines, database_path, session
from app.main import create_app
from app.models import Run, utc_now
from app.services.run_worker import fail_forgotten
from app.settings import PROJECT_ROOT, Settings
from tests.web.catalogs import SLUG, fill
from tests.web.conftest import settings_in
from tests.wheels.making import make_wheel


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a disk can be mounted only by root, outside of a container")
    yield folder
    close_engines()
    subprocess.run(["umount", "-l", str(folder)], check=True)


def resize(disk: Path, size: int) -> None:
    """Give a mounted disk another number of bytes."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def command(settings: Settings, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        env=os.environ
        | {
            "REPROBASE_DATABASE_URL": settings.database_url,
            "REPROBASE_CACHE_DIR": str(settings.cache_dir),
        },
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_is_told_and_the_same_command_works_later(small: Path, tmp_path: Path) -> None:
    settings = settings_in(small)
    resize(small, 200 << 20)
    assert command(settings, "load").returncode == 0
    resize(small, shutil.disk_usage(small).used + (3 << 20))
    code = "".join(f"def f{i}(x):\n    assert x, 'message {i}' * 9\n" for i in range(20_000))
    wheel = make_wheel(tmp_path, {"sglang/many.py": code}, package="sglang", version="1.0")
    full = command(settings, "scan", "--wheel", str(wheel))
    assert full.returncode == 3, full.stderr
    assert "full" in full.stderr
    assert "Traceback" not in full.stderr
    path = database_path(settings)
    assert path is not None
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM site").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM entry").fetchone()[0] > 100
    resize(small, 200 << 20)
    again = command(settings, "scan", "--wheel", str(wheel))
    assert again.returncode == 0, again.stderr


def test_a_site_on_a_full_disk_shows_its_pages_and_says_what_is_wrong(small: Path) -> None:
    settings = settings_in(small)
    fill(settings, versions=("1.0",))
    with TestClient(create_app(settings), raise_server_exceptions=False) as site:
        assert site.get(f"/errors/{SLUG}").status_code == 200
        ballast = small / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
        assert shutil.disk_usage(small).free == 0
        for path in ("/", f"/errors/{SLUG}", f"/api/errors/{SLUG}", "/releases", "/readyz"):
            assert site.get(path).status_code in (200, 503), path
        assert site.get(f"/api/errors/{SLUG}").status_code == 200
        assert "reprobase_cache_free_bytes 0" in site.get("/metrics").text
        ballast.unlink()
        assert site.get("/families").status_code == 200


def test_a_locked_database_is_still_read_and_a_write_is_refused_with_a_sentence(
    empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 300)
    fill(empty, versions=("1.0",))
    path = database_path(empty)
    assert path is not None
    url = "/api/errors/draft-step-exceeds-hash-key/runs"
    headers = {"origin": "http://127.0.0.1:8000"}
    from app.loading.curated import load_curated  # noqa: PLC0415  # the entry with a reproducer

    with session(empty) as db:
        load_curated(db)
    app = create_app(empty)
    with TestClient(
        app,
        base_url="http://127.0.0.1:8000",
        client=("127.0.0.1", 1),
        raise_server_exceptions=False,
    ) as site:
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert site.get("/errors").status_code == 200
            answer = site.post(url, json={"subject": "reference"}, headers=headers)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert "locked" in answer.json()["detail"]
            other.execute("ROLLBACK")
        with session(empty) as db:
            waiting = db.exec(select(Run).where(Run.state != "done")).all()
            assert waiting == [], "nothing half-written"


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
def test_a_clock_that_jumped_keeps_no_dead_run_waiting(empty: Settings, jump: timedelta) -> None:
    """A run that was stored before the jump, by a process that is gone."""
    fill(empty, versions=())
    with session(empty) as db:
        row = Run(id="c" * 16, entry_id="x", step="fix", subject="sglang==1.0", state="queued")
        row.started_at = utc_now() + jump
        db.add(row)
    with session(empty) as db:
        assert fail_forgotten(db, empty) == 1


def test_answers_are_renewed_though_the_clock_goes_back(empty: Settings) -> None:
    """Whether an answer is still right is asked of the catalog, not of the time of day."""
    fill(empty, versions=("1.0",))
    with TestClient(create_app(empty)) as site:
        before = site.get("/api/releases").text
        with session(empty) as db:
            database.write_meta(db, "dataset", "2999-01-01T00:00:00Z")
            database.touch(db, catalog=False)
        time.sleep(0.2)
        assert '"2.0"' not in site.get("/api/releases").text, "what it knows now is of 2999"
        fill_one_more(empty)
        time.sleep(0.2)
        after = site.get("/api/releases").text
        assert ('"2.0"' in after, '"2.0"' in before) == (True, False)


def fill_one_more(settings: Settings) -> None:
    from app.loading.releases import load_release  # noqa: PLC0415  # a scan of its own
    from app.scanner.release import scan_wheel  # noqa: PLC0415  # as above
    from app.wheels import open_wheel  # noqa: PLC0415  # as above
    from tests.web.catalogs import wheel_of  # noqa: PLC0415  # as above

    wheel = open_wheel(wheel_of(settings.wheels_dir / "sglang", "2.0"))
    with session(settings) as db:
        load_release(db, scan_wheel(wheel, processes=0))


def test_a_database_of_an_older_version_is_renewed_by_the_next_start(empty: Settings) -> None:
    """Its run table lacks a column, it has a table that is ours no more; the runs are kept."""
    fill(empty, versions=("1.0",))
    close_engines()
    path = database_path(empty)
    assert path is not None
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE run DROP COLUMN isolation")
        db.execute("CREATE TABLE sightings (id INTEGER)")
        db.execute("UPDATE meta SET value = value || ' sightings' WHERE key = 'tables'")
        db.execute("UPDATE meta SET value = 'older' WHERE key = 'schema'")
    done = command(empty, "load", "--json")
    assert done.returncode in (0, 3), done.stderr
    assert "of another version" in done.stderr
    with sqlite3.connect(path) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert "sightings" not in tables
        kept = {run for (run,) in db.execute("SELECT id FROM run WHERE origin = 'local'")}
        assert kept >= {"aaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaa2", "aaaaaaaaaaaaaaa3"}
        assert "isolation" in {column[1] for column in db.execute("PRAGMA table_info(run)")}
