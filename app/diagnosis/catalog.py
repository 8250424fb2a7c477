"""Opens the index that counts: which file, and does it still say what the catalog says?

The pointer beside the index names the file and the state of the catalog it was made of. For SQLite
the state is compared with the database's own in a millisecond or two; another database is trusted,
because whatever scans or loads writes the index as well.
"""

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from app.diagnosis.index import MAGIC, Index
from app.settings import Settings

if TYPE_CHECKING:
    from app.diagnosis.matcher import Matcher

POINTER: Final = "diagnosis.json"
_lock = threading.Lock()
_open: "dict[Path, Matcher]" = {}


def pointed(settings: Settings) -> tuple[Path, str] | None:
    """The index file that counts and the catalog's state it was made of; None without one."""
    try:
        raw: dict[str, Any] = json.loads((settings.index_dir / POINTER).read_text())
        path = settings.index_dir / str(raw["file"])
        with path.open("rb") as file:
            written_alike = file.read(len(MAGIC)) == MAGIC
        return (path, str(raw["catalog"])) if written_alike else None
    except (OSError, ValueError, KeyError):
        return None


def fresh(settings: Settings) -> Path | None:
    """The index file, if it is there and made of the catalog as it is now."""
    found = pointed(settings)
    if found is None:
        return None
    path, state = found
    now = catalog_state(settings)
    return path if now is None or now == state else None


def catalog_state(settings: Settings) -> str | None:
    """The state of a SQLite catalog, empty for none yet; None for another database."""
    prefix = "sqlite:///"
    if not settings.database_url.startswith(prefix):
        return None
    file = settings.database_url.removeprefix(prefix)
    if not file or file == ":memory:" or not os.path.exists(file):  # noqa: PTH110  # a path costs more than the question
        return ""
    import sqlite3  # noqa: PLC0415  # three milliseconds that only this needs

    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=1) as db:
            row = db.execute("SELECT value FROM meta WHERE key = 'catalog'").fetchone()
            return str(row[0]) if row else ""
    except sqlite3.Error:
        return None


def open_matcher(path: Path) -> "Matcher":
    """The matcher of an index file, opened once a process."""
    from app.diagnosis.matcher import Matcher  # noqa: PLC0415  # a search of a large log begins without it

    with _lock:
        matcher = _open.get(path)
        if matcher is None:
            matcher = Matcher(Index(path))
            _open.clear()
            _open[path] = matcher
        return matcher
