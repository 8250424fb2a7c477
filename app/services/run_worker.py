"""Executes waiting runs, a few at a time, and tells whoever listens what happens.

A run's events are lines of a small file, so that every web worker of this machine can stream them;
its result is the row in the database. When the process ends, its runs are ended too and say so.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path
from typing import cast

from sqlmodel import Session, select

from app.db import session
from app.exceptions import ReprobaseError
from app.models import Entry, Run, utc_now
from app.runs import execute, run_row
from app.services.renewal import renewing
from app.services.run_events import begin_events, events_path, owner_of, say, sweep_events
from app.settings import Settings
from reproducers.protocol import Device, Event, Request, Step

log = logging.getLogger(__name__)
AT_ONCE = 2
_NEW = timedelta(minutes=1)
"""A row is stored a moment before its events begin."""
NICENESS = 10
"""Readers wait for pages, and nobody waits for a run to the second. Only the run itself gives way:
a thread of this process that did would hold the interpreter's lock while it is not scheduled, and
with it everybody who waits for an answer.
"""
_STRETCH = 3
"""What gives way takes longer by the clock; it is not to be ended for that."""
_TRIES, _LONGEST_PAUSE = 12, 30.0
_at_hand: set[str] = set()
"""The runs that this process has taken and not yet finished."""


class RunWorker:
    """The runs of one process."""

    def __init__(self, settings: Settings, at_once: int = AT_ONCE) -> None:
        self._settings = settings
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="run")
        self._cancel = threading.Event()
        self._mine: set[str] = set()

    def submit(self, run_ids: Iterable[str]) -> None:
        """Execute some waiting runs, one after the other."""
        ids = list(run_ids)
        for run_id in ids:
            self._mine.add(run_id)
            _at_hand.add(run_id)
            begin_events(self._settings, run_id)
        self._pool.submit(self._work, ids)

    def close(self) -> None:
        """End what runs, and wait for it."""
        self._cancel.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        _at_hand.difference_update(self._mine)

    def _work(self, ids: list[str]) -> None:
        for run_id in ids:
            try:
                self._execute(run_id)
            except Exception:  # the row must not stay `running` whatever happens
                log.exception("Run %s failed", run_id)
                self._fail_in_the_end(run_id, "The site could not run this; its log says more.")
            finally:
                _at_hand.discard(run_id)
                self._mine.discard(run_id)
        with contextlib.suppress(ReprobaseError), session(self._settings) as db:
            sweep_events(db, self._settings)

    def _fail_in_the_end(self, run_id: str, reason: str) -> None:
        """Write the failure down, again and again while the database does not take it.

        If it never does, `fail_forgotten` finds the row.
        """
        pause = 0.5
        for _ in range(_TRIES):
            try:
                self._fail(run_id, reason)
            except Exception:  # whatever it is, the next try may succeed
                log.exception("Run %s could not be marked as failed yet", run_id)
            else:
                return
            if self._cancel.wait(pause):
                return
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _execute(self, run_id: str) -> None:
        from app.runs.plan import plan, runnable  # noqa: PLC0415  # a start need not wait for it

        path = events_path(self._settings, run_id)
        with session(self._settings) as db:
            run = _waiting(db, run_id)
            found = run.kind == "synthesized"
            entry = None if found else runnable(db, _entry(db, run))
            run.state = "running"
            run.started_at = utc_now()
        try:
            request = (
                self._found(run)
                if entry is None
                else plan(
                    entry,
                    run.subject,
                    cast("Step", run.step),
                    self._settings,
                    device=cast("Device", run.device),
                    on_progress=lambda text: say(path, "progress", text),
                )
            )
        except ReprobaseError as e:
            self._fail(run_id, str(e), outcome="skipped")
            return
        stretched = replace(request.limits, seconds=_STRETCH * request.limits.seconds)
        request = replace(request, limits=stretched)
        result = execute(
            request, lambda event: _pass_on(path, event), cancel=self._cancel, niceness=NICENESS
        )
        row = run_row(
            result,
            request,
            entry_id=run.entry_id,
            silent=entry is not None and entry.silent,
            run_id=run_id,
            started_at=run.started_at,
            kind="synthesized" if entry is None else "handwritten",
        )
        row.pair = run.pair
        self._finish(row, path)

    def _found(self, run: Run) -> Request:
        """The request for what the program found by itself."""
        from app.services.synthesized import again_request  # noqa: PLC0415  # as above

        with session(self._settings) as db:
            step = cast("Step", run.step)
            return again_request(db, _entry(db, run), run.subject, step, self._settings)

    def _fail(self, run_id: str, reason: str, *, outcome: str = "died") -> None:
        with session(self._settings) as db:
            run = db.get(Run, run_id)
            if run is None:
                return
            with renewing(db, [run]):
                run.outcome = outcome
                run.reason = reason
                run.state = "done"
                db.add(run)
        say(events_path(self._settings, run_id), "done", reason)

    def _finish(self, row: Run, path: Path) -> None:
        with session(self._settings) as db, renewing(db, [row]):
            db.merge(row)
        say(path, "done", row.reason or row.outcome or "")


def end_forgotten(settings: Settings) -> int:
    """Mark runs that nobody works on as ended and sweep old events; returns how many there were."""
    with session(settings) as db:
        sweep_events(db, settings)
        return fail_forgotten(db, settings)


def fail_forgotten(db: Session, settings: Settings) -> int:
    """The same in an open session, which the caller commits; events stay."""
    forgotten = []
    for run in db.exec(select(Run).where(Run.state != "done")):
        owner = owner_of(settings, run.id)
        ours = owner == os.getpid()
        if not ((run.id in _at_hand) if ours else (owner is not None or _is_new(run))):
            forgotten.append(run)
    if forgotten:
        with renewing(db, forgotten):
            for run in forgotten:
                if run.state != "done":  # its end was not written while this waited
                    run.state = "done"
                    run.outcome = "died"
                    run.reason = "The site was stopped while this was waiting or running."
                    db.add(run)
    return len(forgotten)


def _is_new(run: Run) -> bool:
    """Whether a waiting run was stored just now, so that its process may not have taken it yet.

    One from the future was stored before the clock went back: it is as old as it is far away.
    """
    started = run.started_at if run.started_at.tzinfo else run.started_at.replace(tzinfo=UTC)
    return run.state == "queued" and abs(utc_now() - started) < _NEW


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


def _pass_on(path: Path, event: Event) -> None:
    say(path, event.event, event.text, event.data)
