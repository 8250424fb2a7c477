"""The events of a run as a small file, a JSON line each, so that every web worker can stream them.

Its first line names the process that took the run: by its number and by when it started, since
numbers come again. A file is gone with its run, or an hour after the run's end.
"""

import json
import os
import time
from pathlib import Path
from typing import Any, Final

from sqlmodel import Session, col, select

from app.models import Run
from app.settings import Settings

KEPT_SECONDS: Final = 3600
"""How long the events of a finished run can still be read; its record stays."""


def events_path(settings: Settings, run_id: str) -> Path:
    """Where the events of a run are written."""
    return _folder(settings) / f"{run_id}.jsonl"


def begin_events(settings: Settings, run_id: str) -> Path:
    """Begin the file of a run that this process takes."""
    path = events_path(settings, run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = {"pid": os.getpid(), "started": process_start(os.getpid())}
    say(path, "queued", "waiting for its turn", mark)
    return path


def say(path: Path, event: str, text: str, data: dict[str, Any] | None = None) -> None:
    """Write one event."""
    line = json.dumps({"event": event, "text": text, "data": data or {}}, default=repr)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def owner_of(settings: Settings, run_id: str) -> int | None:
    """The process that took a run, if it is still there; None if it is gone or nobody took it."""
    try:
        with events_path(settings, run_id).open(encoding="utf-8") as file:
            mark = json.loads(file.readline())["data"]
        pid = int(mark["pid"])
        os.kill(pid, 0)
    except PermissionError:
        pass  # it is there, and another user's
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if mark.get("started") == process_start(pid) else None


def process_start(pid: int) -> str | None:
    """When a process started, in the kernel's words; None where that cannot be asked."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id")
    ticks = stat.rpartition(")")[2].split()[19]  # field 22, counted behind the name in brackets
    return f"{boot.read_text().strip() if boot.exists() else ''}:{ticks}"


def sweep_events(db: Session, settings: Settings) -> int:
    """Remove the files of runs that are gone or long finished; returns how many."""
    removed = 0
    files = {path.stem: path for path in _folder(settings).glob("*.jsonl")}
    known = dict(db.exec(select(Run.id, Run.state).where(col(Run.id).in_(files))).all())
    for run_id, path in files.items():
        try:
            old = time.time() - path.stat().st_mtime > KEPT_SECONDS
            if old and known.get(run_id, "done") == "done":
                path.unlink()
                removed += 1
        except OSError:
            continue  # another process was first
    return removed


def _folder(settings: Settings) -> Path:
    return settings.cache_dir / "state" / "runs"
