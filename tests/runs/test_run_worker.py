"""Runs of the site: whatever happens their rows end, their events are bounded and go away."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session, select

from app import db as database
from app.db import close_engines, database_path, session
from app.exceptions import BusyError
from app.models import Entry, Run, utc_now
from app.runs import execute
from app.services.run_events import (
    KEPT_SECONDS,
    begin_events,
    events_path,
    owner_of,
    process_start,
    say,
    sweep_events,
)
from app.services.run_start import MOST_WAITING, Wanted, queue_runs
from app.services.run_worker import RunWorker, end_forgotten
from app.settings import Settings, load_settings
from reproducers.protocol import Event, dump
from reproducers.wall.watch import MAX_EVENT_BYTES
from tests.runs.toys import Toys

SLUG = "unknown-speculative-phase"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 2000)
    yield load_settings({"HOME": str(tmp_path)})
    close_engines()


def store(settings: Settings, *run_ids: str, state: str = "running", minutes_ago: int = 5) -> None:
    when = utc_now() - timedelta(minutes=minutes_ago)
    with session(settings) as db:
        for run_id in run_ids:
            db.add(
                Run(
                    id=run_id, entry_id="e" * 16, step="fix", subject="s", state=state,
                    started_at=when,
                )
            )  # fmt: skip


def states(settings: Settings) -> dict[str, str]:
    with session(settings) as db:
        return {run.id: run.state for run in db.exec(select(Run))}


def claim(settings: Settings, run_id: str, pid: int, started: str | None) -> None:
    """Write that a process took a run."""
    path = events_path(settings, run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    say(path, "queued", "", {"pid": pid, "started": started})


def test_a_run_belongs_to_the_process_that_took_it(settings: Settings) -> None:
    begin_events(settings, "r1")
    assert owner_of(settings, "r1") == os.getpid()
    assert owner_of(settings, "nobody-took-it") is None


def test_a_process_that_only_has_the_same_number_owns_nothing(settings: Settings) -> None:
    claim(settings, "r1", os.getpid(), "of another time")
    assert owner_of(settings, "r1") is None


def test_rows_that_nobody_works_on_are_ended_and_others_are_left(settings: Settings) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        store(settings, "of-another", "of-its-forerunner", "without-events", "ours-but-dropped")
        store(settings, "just-stored", state="queued", minutes_ago=0)
        store(settings, "long-queued", state="queued")
        claim(settings, "of-another", other.pid, process_start(other.pid))
        claim(settings, "of-its-forerunner", other.pid, "earlier")
        begin_events(settings, "ours-but-dropped")
        assert end_forgotten(settings) == 4
        other.communicate(b"\n")
    assert states(settings) == {
        "of-another": "running",
        "of-its-forerunner": "done",
        "without-events": "done",
        "ours-but-dropped": "done",
        "just-stored": "queued",
        "long-queued": "done",
    }
    assert end_forgotten(settings) == 1  # the other process is gone now


def test_a_failure_is_written_down_though_the_database_is_locked_for_a_while(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 20)
    store(settings, "r1", state="queued", minutes_ago=0)
    worker = RunWorker(settings)
    with sqlite3.connect(str(database_path(settings)), isolation_level=None) as lock:
        lock.execute("BEGIN IMMEDIATE")
        worker.submit(["r1"])  # there is no such entry: it cannot be run
        time.sleep(0.7)
        assert states(settings) == {"r1": "queued"}
        lock.execute("ROLLBACK")
    for _ in range(100):
        if states(settings) == {"r1": "done"}:
            break
        time.sleep(0.1)
    worker.close()
    assert states(settings) == {"r1": "done"}


def entry_in(db: Session) -> Entry:
    entry = Entry(
        id="e" * 16, package="sglang", error_class="ValueError", error_type="exception",
        template="no", pattern="no", slug=SLUG,
    )  # fmt: skip
    return db.merge(entry)


def test_no_more_runs_wait_than_may_however_many_ask_at_once(settings: Settings) -> None:
    with session(settings) as db:
        entry = entry_in(db)
    begin = threading.Barrier(12)
    wanted = Wanted(step="trigger", subject="sglang==0.5.18")

    def ask(_: int) -> int:
        begin.wait()
        started = 0
        for _try in range(3):
            try:
                with session(settings) as db:
                    started += len(queue_runs(db, entry, wanted, settings))
            except BusyError:
                pass
        return started

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(ask, range(12))) == MOST_WAITING
    assert len(states(settings)) == MOST_WAITING


def test_stale_rows_do_not_keep_new_runs_out(settings: Settings) -> None:
    store(settings, *(f"r{n}" for n in range(MOST_WAITING)))
    with session(settings) as db:
        wanted = Wanted(step="trigger", subject="sglang==0.5.18")
        assert len(queue_runs(db, entry_in(db), wanted, settings)) == 1
    assert sorted(states(settings).values()) == ["done"] * MOST_WAITING + ["queued"]


def test_events_go_with_their_run_or_an_hour_after_its_end(settings: Settings) -> None:
    store(settings, "done-old", "done-new", state="done")
    store(settings, "running")
    for name in ("done-old", "done-new", "running", "deleted"):
        begin_events(settings, name)
    past = time.time() - KEPT_SECONDS - 1
    for name in ("done-old", "running", "deleted"):
        os.utime(events_path(settings, name), (past, past))
    with session(settings) as db:
        assert sweep_events(db, settings) == 2
    left = sorted(p.stem for p in events_path(settings, "x").parent.iterdir())
    assert left == ["done-new", "running"]


def test_the_events_of_a_run_are_bounded_together_and_its_result_still_comes(toys: Toys) -> None:
    reproducer = """
        from reproducers.protocol import Event

        def trigger(subject):
            for n in range(1000):
                subject._emit(Event(event="progress", text=str(n) + "x" * 20_000))
            subject.load("toy.engine").check(5)
    """
    events: list[Event] = []
    result = execute(toys.request(reproducer=reproducer), events.append)
    assert result.matched
    size = sum(len(dump(e)) for e in events)
    assert MAX_EVENT_BYTES - 30_000 < size <= MAX_EVENT_BYTES
