"""One scan of a release at a time: whoever comes second waits, and gets the result of the first.

A lock on a small file says that somebody is at it; the system takes it back when that process ends,
however it ends. It holds on one machine. Two machines over one PostgreSQL read twice and store one
after the other, each whole.
"""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from app.settings import Settings

_STEP: Final = 0.2
_LAST: Final = 1.0
"""Seconds between two words to whoever waits."""


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[bool]:
    """Take a lock if it is free; True for the one process that holds it, False for others."""
    try:
        import fcntl  # noqa: PLC0415  # not on every platform
    except ImportError:
        yield True
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


@contextlib.contextmanager
def my_turn(
    settings: Settings, package: str, version: str, on_wait: Callable[[], None]
) -> Iterator[bool]:
    """Wait until nobody else on this machine scans a release into this database.

    Args:
        settings: whose database and cache.
        package: of the release.
        version: of the release.
        on_wait: called once a second while another one is at it.

    Yields:
        Whether another one was at it, so that its result may be there now.
    """
    path = _lock_file(settings, package, version)
    waited, said = False, 0.0
    while True:
        with _where_possible(path) as mine:
            if mine:
                yield waited
                return
        waited = True
        if time.monotonic() - said >= _LAST:
            said = time.monotonic()
            on_wait()
        time.sleep(_STEP)


@contextlib.contextmanager
def _where_possible(path: Path) -> Iterator[bool]:
    """As `only_one`; where the cache cannot be written, everybody goes ahead."""
    with contextlib.ExitStack() as stack:
        try:
            mine = stack.enter_context(only_one(path))
        except OSError:
            mine = True
        yield mine


def _lock_file(settings: Settings, package: str, version: str) -> Path:
    database = hashlib.sha256(settings.database_url.encode()).hexdigest()[:8]
    return settings.scan_state_file.parent / f"scan-{package}-{version}-{database}.lock"
