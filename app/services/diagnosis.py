"""What went wrong in a log, by the index of the catalog as it is now."""

import threading
import time
from pathlib import Path

from app.db import session
from app.diagnosis.catalog import fresh, open_matcher, pointed
from app.diagnosis.diagnose import diagnose
from app.diagnosis.result import Diagnosis
from app.exceptions import BusyError, CannotTellError
from app.loading.index import refresh
from app.services.indexing import deferred
from app.services.scanning import scan_state
from app.settings import Settings
from app.wheels import parse_release

_building = threading.Lock()
_waiting = threading.BoundedSemaphore(8)
_PATIENCE = 60.0
_STEP = 0.2


def answer(log: str, settings: Settings, *, command: str = "", release: str = "") -> Diagnosis:
    """Diagnose a log.

    Args:
        log: its text.
        settings: where the index of the catalog lies; it is made if it is missing or out of date.
        command: the launch line, if known.
        release: `package==version`, if known; inferred from the log otherwise.

    Raises:
        CannotTellError: the log is empty.
        BadInputError: the release is none.
    """
    if not log.strip():
        raise CannotTellError("There is nothing to diagnose: the log is empty.")
    named = ""
    if release.strip():
        package, version = parse_release(release.strip())
        named = f"{package}=={version}"
    matcher = open_matcher(index_file(settings))
    found = diagnose(log, matcher=matcher, command=command.strip() or None, release=named or None)
    note_reading(found, settings)
    return found


def note_reading(found: Diagnosis, settings: Settings) -> None:
    """Say in an answer without an entry that a release is being read whose messages will be known.

    Args:
        found: the answer; what it misses is added to.
        settings: where the scan behind a site tells how far it is.
    """
    if found.verdict == "known":
        return
    state = scan_state(settings)
    if state is not None and not state.failed:
        found.missing.insert(
            0,
            f"The messages of {state.release}: the release is still being read"
            " and not in the catalog yet. Ask again when that is done.",
        )


def index_file(settings: Settings) -> Path:
    """The compiled index: of the catalog as it is now, or an older one while that is made.

    Raises:
        BusyError: there is none yet, and many wait for it already.
    """
    path = fresh(settings)
    if path is not None:
        return path
    with session(settings) as db:
        elsewhere = deferred(db, settings)
    if not elsewhere:
        with _building:
            return fresh(settings) or refresh(settings)
    old = pointed(settings)
    return old[0] if old is not None else _awaited(settings)


def _awaited(settings: Settings) -> Path:
    """The first index of a catalog, which a child makes: without one nothing can be diagnosed."""
    if not _waiting.acquire(blocking=False):
        raise BusyError("The index of the catalog is being made; try again in a few seconds.")
    try:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            found = pointed(settings)
            if found is not None:
                return found[0]
            time.sleep(_STEP)
    finally:
        _waiting.release()
    raise BusyError("The index of the catalog is still being made; try again in a minute.")
