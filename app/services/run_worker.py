"""Executes waiting runs, a few at a time, and tells whoever listens what happens.

A run's events are lines of a small file, so that every web worker of this machine can stream them;
its result is the row in the database. When the process ends, its runs are ended too and say so.
"""

import json
import logging
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from sqlmodel import Session, select

from app.db import session, touch
from app.exceptions import ReprobaseError
from app.models import Entry, Run, utc_now
from app.runs import execute, run_row
from app.settings import Settings
from reproducers.protocol import Device, Event, Step

log = logging.getLogger(__name__)
AT_ONCE = 2


def events_path(settings: Settings, run_id: str) -> Path:
    """Where the events of a run are written, a JSON line each."""
    return settings.cache_dir / "state" / "runs" / f"{run_id}.jsonl"


class RunWorker:
    """The runs of one process."""

    def __init__(self, settings: Settings, at_once: int = AT_ONCE) -> None:
        self._settings = settings
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="run")
        self._cancel = threading.Event()

    def submit(self, run_ids: Iterable[str]) -> None:
        """Execute some waiting runs, one after the other."""
        ids = list(run_ids)
        for run_id in ids:
            path = events_path(self._settings, run_id)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            _say(path, "queued", "waiting for its turn", {"pid": os.getpid()})
        self._pool.submit(self._work, ids)

    def close(self) -> None:
        """End what runs, and wait for it."""
        self._cancel.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _work(self, ids: list[str]) -> None:
        for run_id in ids:
            try:
                self._execute(run_id)
            except Exception:  # the row must not stay `running` whatever happens
                log.exception("Run %s failed", run_id)
                self._fail(run_id, "The site could not run this; its log says more.")

    def _execute(self, run_id: str) -> None:
        from app.runs.plan import plan, runnable  # noqa: PLC0415  # a start need not wait for it

        path = events_path(self._settings, run_id)
        with session(self._settings) as db:
            run = _waiting(db, run_id)
            entry = runnable(db, _entry(db, run))
            run.state = "running"
            run.started_at = utc_now()
            touch(db, catalog=False)
        try:
            request = plan(
                entry,
                run.subject,
                cast("Step", run.step),
                self._settings,
                device=cast("Device", run.device),
                on_progress=lambda text: _say(path, "progress", text),
            )
        except ReprobaseError as e:
            self._fail(run_id, str(e), outcome="skipped")
            return
        result = execute(request, lambda event: _pass_on(path, event), cancel=self._cancel)
        row = run_row(
            result,
            request,
            entry_id=entry.entry_id,
            silent=entry.silent,
            run_id=run_id,
            started_at=run.started_at,
        )
        row.pair = run.pair
        self._finish(row, path)

    def _fail(self, run_id: str, reason: str, *, outcome: str = "died") -> None:
        with session(self._settings) as db:
            run = db.get(Run, run_id)
            if run is None:
                return
            run.outcome = outcome
            run.reason = reason
            run.state = "done"
            db.add(run)
            touch(db, catalog=False)
        _say(events_path(self._settings, run_id), "done", reason)

    def _finish(self, row: Run, path: Path) -> None:
        with session(self._settings) as db:
            db.merge(row)
            touch(db, catalog=False)
        _say(path, "done", row.reason or row.outcome or "")


def end_forgotten(settings: Settings) -> int:
    """Mark runs of a process that is gone as ended; returns how many there were."""
    ended = 0
    with session(settings) as db:
        for run in db.exec(select(Run).where(Run.state != "done")):
            if not _watched(events_path(settings, run.id)):
                run.state = "done"
                run.outcome = "died"
                run.reason = "The site was stopped while this was waiting or running."
                db.add(run)
                ended += 1
        if ended:
            touch(db, catalog=False)
    return ended


def _waiting(db: Session, run_id: str) -> Run:
    run = db.get(Run, run_id)
    if run is None:
        raise LookupError(run_id)
    return run


def _entry(db: Session, run: Run) -> Entry:
    entry = db.get(Entry, run.entry_id)
    if entry is None:
        raise LookupError(run.entry_id)
    return entry


def _watched(path: Path) -> bool:
    """Whether the process that took a run is still there."""
    try:
        with path.open(encoding="utf-8") as file:
            pid = int(json.loads(file.readline())["data"]["pid"])
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return pid != os.getpid()


def _pass_on(path: Path, event: Event) -> None:
    _say(path, event.event, event.text, event.data)


def _say(path: Path, event: str, text: str, data: dict[str, Any] | None = None) -> None:
    line = json.dumps({"event": event, "text": text, "data": data or {}}, default=repr)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
