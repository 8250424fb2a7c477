"""What the program found by itself: one small SQLite file in the cache, for all releases.

It is written while sites are looked at, so that an interrupted search goes on where it stopped; it
outlives the catalog, and what it holds of one release is where the next one begins.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from app.exceptions import UnavailableError
from app.settings import Settings

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS found (
    package TEXT NOT NULL, version TEXT NOT NULL, site_id TEXT NOT NULL, entry_id TEXT NOT NULL,
    program TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (package, version, site_id)
);
CREATE INDEX IF NOT EXISTS found_entry ON found (entry_id);
"""
Found = dict[str, Any]


def store_path(settings: Settings) -> Path:
    """Where the results lie."""
    return settings.cache_dir / "synthesis" / "found.sqlite"


@contextmanager
def _opened(settings: Settings) -> Iterator[sqlite3.Connection]:
    path = store_path(settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=30.0)) as db:
            db.executescript(_TABLE)
            yield db
    except (OSError, sqlite3.Error) as e:
        raise UnavailableError(f"{path} cannot be used ({e}); move it away.") from e


def keep_found(
    settings: Settings, package: str, version: str, program: str, results: Iterable[Found]
) -> None:
    """Store results, in place of older ones of the same sites.

    Args:
        settings: whose cache.
        package: of the release.
        version: likewise.
        program: digest of the program that found them.
        results: each with `siteId` and `entryId`.

    Raises:
        UnavailableError: the file cannot be written.
    """
    rows = [
        (package, version, r["siteId"], r["entryId"], program, json.dumps(r, ensure_ascii=False))
        for r in results
    ]
    with _opened(settings) as db, db:
        db.executemany("INSERT OR REPLACE INTO found VALUES (?, ?, ?, ?, ?, ?)", rows)


def read_found(
    settings: Settings, package: str, version: str, program: str | None = None
) -> dict[str, Found]:
    """The results of a release by site id.

    Args:
        settings: whose cache.
        package: of the release.
        version: likewise.
        program: only what this program found.

    Raises:
        UnavailableError: the file cannot be read.
    """
    if not store_path(settings).exists():
        return {}
    with _opened(settings) as db:
        rows = db.execute(
            "SELECT site_id, content, program FROM found WHERE package = ? AND version = ?",
            (package, version),
        )
        return {s: json.loads(c) for s, c, p in rows if program is None or p == program}


def found_releases(settings: Settings) -> list[tuple[str, str]]:
    """The releases of which something was found: package and version.

    Raises:
        UnavailableError: the file cannot be read.
    """
    if not store_path(settings).exists():
        return []
    with _opened(settings) as db:
        return list(db.execute("SELECT DISTINCT package, version FROM found ORDER BY 1, 2"))


def found_of_entry(settings: Settings, entry_ids: Iterable[str]) -> list[tuple[str, Found]]:
    """What was found of an entry: subject and result, best first.

    Raises:
        UnavailableError: the file cannot be read.
    """
    ids = sorted(set(entry_ids))
    if not ids or not store_path(settings).exists():
        return []
    marks = ", ".join("?" * len(ids))
    with _opened(settings) as db:
        rows = db.execute(
            f"SELECT package, version, content FROM found WHERE entry_id IN ({marks})",  # noqa: S608  # marks alone
            ids,
        ).fetchall()
    found = [(f"{p}=={v}", json.loads(c)) for p, v, c in rows]
    return sorted(found, key=lambda f: worth(f[1]))


def worth(found: Mapping[str, Any]) -> tuple[bool, bool, bool, int]:
    """Sorts results, the most telling first: launch lines, fixes, triggers, and short ones."""
    values = (found.get("trigger") or {}).get("values", {})
    return (
        not (found.get("launch") or {}).get("confirmed"),
        not found.get("fix"),
        not found.get("trigger"),
        len(values),
    )
