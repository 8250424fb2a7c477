"""Who makes the indexes of a changed catalog: the site has a child do it, a command does it itself.

Making them for a large catalog takes many seconds of computing, and a request must not wait for
that. While a site is up, whoever misses an index asks here: a child process of low priority makes
all of them, the old ones serve until then, and what has no old one does without. The child ends
with a new revision, so that pages rendered meanwhile are rendered anew. A small catalog is not
worth a process: its indexes are made on the spot.
"""

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from sqlmodel import Session, func, select

from app.diagnosis.catalog import fresh
from app.models import Entry
from app.search import catalog_version
from app.search.store import is_made
from app.services.related import are_related
from app.settings import Settings

log = logging.getLogger(__name__)

SMALL = 3000
"""Entries that are indexed in a fraction of a second."""
_END_SECONDS = 2.0
_AGAIN = 60.0
"""Seconds until a child that failed is tried again for the same state of the catalog."""
_active: dict[str, "Indexer"] = {}


def low_priority(command: list[str]) -> list[str]:
    """A command that gives way to those who wait for an answer."""
    nice = shutil.which("nice")
    return [nice, "-n", "10", *command] if nice else command


def index_command() -> list[str]:
    """Makes the indexes of the catalog that are missing."""
    return low_priority([sys.executable, "-m", "app.services.index_making"])


def child_environment(settings: Settings) -> dict[str, str]:
    """The environment of a child: the settings may not have come from this process's own."""
    return {
        **os.environ,
        "REPROBASE_DATABASE_URL": settings.database_url,
        "REPROBASE_CACHE_DIR": str(settings.cache_dir),
    }


def end_child(child: subprocess.Popen[Any]) -> None:
    """End a child that was started in a session of its own, with all that it started.

    What it writes appears whole or not at all, so it need not be asked for long.
    """
    for how in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        with contextlib.suppress(OSError):
            os.killpg(child.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_END_SECONDS)


def all_made(db: Session, settings: Settings) -> bool:
    """Whether every index of the catalog as it is now is at hand."""
    made = is_made(db, settings) and are_related(db, settings)
    return made and fresh(settings) is not None


def deferred(db: Session, settings: Settings) -> bool:
    """Whether the caller must do without an index that is missing, because a child makes it.

    False in a command, for a small catalog, and where nothing is missing.
    """
    indexer = _active.get(settings.database_url)
    if indexer is None:
        return False
    version = catalog_version(db)
    if indexer.done == version:
        return False
    if all_made(db, settings):
        indexer.done = version
        return False
    if db.exec(select(func.count()).select_from(Entry)).one() < SMALL:
        return False
    indexer.ask(version)
    return True


class Indexer:
    """Makes indexes for one process of the site, one child at a time."""

    def __init__(self, settings: Settings, command: list[str] | None = None) -> None:
        self._settings = settings
        self._command = command or index_command()
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = self._tried = ""
        self._when = 0.0
        self._closed = False
        self.done = ""
        """The state of the catalog whose indexes are known to be there."""
        _active[settings.database_url] = self

    def ask(self, version: str) -> None:
        """See to it that a child makes the indexes of this state of the catalog."""
        with self._lock:
            self._wanted = version
            if self._thread is not None and self._thread.is_alive():
                return  # it looks again when its child has ended
            if self._tried == version and time.monotonic() - self._when < _AGAIN:
                return
            self._tried = ""
            self._thread = threading.Thread(target=self._work, name="indexer", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._closed or self._tried == self._wanted:
                    self._thread = None
                    return
                self._tried, self._when = self._wanted, time.monotonic()
                self._child = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=child_environment(self._settings),
                    start_new_session=True,  # Ctrl-C in the terminal is for the site alone
                )
            if self._child.wait() and not self._closed:
                log.warning("The indexes could not be made; trying again in %.0f s.", _AGAIN)

    def close(self) -> None:
        """End the child; what it made so far stays."""
        if _active.get(self._settings.database_url) is self:
            del _active[self._settings.database_url]
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None:
            end_child(child)
