"""Wheels of the releases that lines are checked on, kept open between checks.

Opening a wheel reads and checks its table of contents, a tenth of a second for each line. A kept
one is used as long as its file is the same: size and time are looked at each time.
"""

import threading
from pathlib import Path
from typing import Final

from app.settings import Settings
from app.wheels import Wheel, cached_wheel

_MOST: Final = 8
_lock = threading.Lock()
_kept: dict[tuple[Path, str, str], tuple[Wheel, tuple[int, int]]] = {}


def kept_wheel(package: str, version: str, settings: Settings) -> Wheel | None:
    """The wheel of a release if it lies in the cache; nothing is fetched.

    Raises:
        BadWheelError: it is damaged.
    """
    key = (settings.wheels_dir, package, version)
    with _lock:
        found = _kept.get(key)
    if found is not None and _state(found[0].path) == found[1]:
        return found[0]
    wheel = cached_wheel(package, version, settings)
    with _lock:
        _kept.pop(key, None)
        state = _state(wheel.path) if wheel is not None else None
        if wheel is not None and state is not None:
            while len(_kept) >= _MOST:
                del _kept[next(iter(_kept))]
            _kept[key] = wheel, state
    return wheel


def _state(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
