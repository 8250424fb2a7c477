"""The first scan, behind a site that already answers: one child process, its progress in a file.

Whoever serves first takes a lock file and starts `reprobase scan RELEASE`; every web worker reads
the same small file to say how far it is. A scan that was cut short left nothing in the catalog, so
the next start simply does it again.
"""

import contextlib
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlmodel import select

from app.db import session
from app.diagnosis.catalog import fresh
from app.loading.one_scan import only_one
from app.models import Release
from app.services.indexing import child_environment, end_child, index_command, low_priority
from app.settings import Settings
from app.wheels import parse_release

log = logging.getLogger(__name__)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class ScanState:
    """How far the background scan is."""

    release: str
    said: str
    """The newest line of its progress, or what went wrong."""
    pid: int
    """The process that watches over it; when that is gone, so is the scan."""
    failed: bool = False
    done: bool = False


def scan_state(settings: Settings) -> ScanState | None:
    """The scan that goes on or has failed; None when there is nothing to say."""
    path = _status_path(settings)
    try:
        state = ScanState(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if state.done or not (state.failed or _lives(state.pid)):
        return None
    return state


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def is_scanned(settings: Settings, release: str) -> bool:
    """Whether a release is in the catalog."""
    package, version = parse_release(release)
    with session(settings) as db:
        wanted = select(Release.id).where(Release.package == package, Release.version == version)
        return db.exec(wanted).first() is not None


class BackgroundScan:
    """The child that scans the default release; `stop` ends it cleanly."""

    def __init__(
        self, settings: Settings, command: Callable[[str], list[str]] | None = None
    ) -> None:
        self._settings = settings
        self._command = command or _scan_command
        self._child: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False

    def start(self) -> bool:
        """Start it if there is anything to do: a release to scan, or indexes to make.

        Returns:
            Whether the default release has to be scanned.
        """
        release = self._settings.default_release
        missing = not is_scanned(self._settings, release)
        if not missing:
            with contextlib.suppress(OSError):
                _status_path(self._settings).unlink(missing_ok=True)
        if missing or fresh(self._settings) is None:
            self._thread = threading.Thread(target=self._follow, args=(release,), daemon=True)
            self._thread.start()
        return missing

    @property
    def going(self) -> bool:
        """Whether a child is at work."""
        return self._child is not None and self._child.poll() is None

    def stop(self) -> None:
        """End the child and wait for it."""
        self._stopping = True
        if self._child is not None:
            end_child(self._child)
        if self._thread is not None:
            self._thread.join(5)

    def _follow(self, release: str) -> None:
        path = _status_path(self._settings)
        with only_one(path.with_suffix(".lock")) as mine:
            if not mine:
                return
            last = ""
            if not is_scanned(self._settings, release):
                self._write(ScanState(release, f"Scanning {release} …", os.getpid()))
                last = self._run(release, self._command(release))
            if self._stopping:
                path.unlink(missing_ok=True)
            elif is_scanned(self._settings, release):
                self._write(ScanState(release, "Making it searchable …", os.getpid()))
                self._run(release, index_command())
                self._write(ScanState(release, f"{release} is scanned.", os.getpid(), done=True))
            else:
                said = f"Scanning {release} failed: {last} Try `reprobase scan {release}`."
                log.warning(said)
                self._write(ScanState(release, said, os.getpid(), failed=True))

    def _run(self, release: str, command: list[str]) -> str:
        """Run a child to its end and return the last thing it said."""
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=child_environment(self._settings),
            start_new_session=True,  # Ctrl-C in the terminal is for the site alone
        )
        assert self._child.stderr is not None
        last, written = "", 0.0
        for chunk in self._child.stderr:
            line = _ANSI.sub("", chunk).strip().rsplit("\r", 1)[-1].strip()
            last = line or last
            if line and time.monotonic() - written > 0.2:  # noqa: PLR2004  # often enough to watch
                self._write(ScanState(release, line, os.getpid()))
                written = time.monotonic()
        self._child.wait()
        return last

    def _write(self, state: ScanState) -> None:
        path = _status_path(self._settings)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(asdict(state)), encoding="utf-8")
            fresh.replace(path)
        except OSError as e:
            log.warning("The scan's progress cannot be written to %s: %s", path, e)


def _status_path(settings: Settings) -> Path:
    return settings.scan_state_file


def _scan_command(release: str) -> list[str]:
    return low_priority([sys.executable, "-u", "-m", "app.cli", "scan", release])
