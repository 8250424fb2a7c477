"""A finished run is stored although a scan holds the database, or it is said that it is not."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

import app.db
from app.commands import running
from app.db import close_engines, session
from app.models import Run
from app.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setattr(app.db, "BUSY_TIMEOUT_MS", 100)
    close_engines()
    yield load_settings(
        {
            "REPROBASE_CACHE_DIR": str(tmp_path),
            "REPROBASE_DATABASE_URL": f"sqlite:///{tmp_path}/a.db",
        }
    )
    close_engines()


def writer(tmp_path: Path) -> sqlite3.Connection:
    """Another program in the middle of a transaction that writes."""
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


def a_run() -> Run:
    return Run(id="a" * 16, entry_id="0" * 16, step="trigger", subject="sglang==0.5.23")


def kept(settings: Settings) -> int:
    with session(settings) as db:
        return len(db.exec(select(Run)).all())


def test_a_run_waits_for_the_program_that_writes(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kept(settings) == 0
    other = writer(tmp_path)
    threading.Thread(target=lambda: (time.sleep(0.5), other.execute("COMMIT"))).start()
    assert running.keep([a_run()], settings)
    assert kept(settings) == 1
    assert "another program writes to the database" in capsys.readouterr().err


def test_a_run_that_cannot_be_stored_is_said_not_to_be_kept(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(running, "_TRIES", 2)
    assert kept(settings) == 0
    other = writer(tmp_path)
    assert not running.keep([a_run()], settings)
    other.execute("ROLLBACK")
    assert kept(settings) == 0
    assert "not kept" in capsys.readouterr().err
