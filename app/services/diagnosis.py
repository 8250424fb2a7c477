"""What went wrong in a log, by the index of the catalog as it is now."""

import threading
from pathlib import Path

from app.diagnosis.catalog import fresh, open_matcher
from app.diagnosis.diagnose import diagnose
from app.diagnosis.result import Diagnosis
from app.exceptions import CannotTellError
from app.loading.index import refresh
from app.settings import Settings
from app.wheels import parse_release

_building = threading.Lock()


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
    return diagnose(log, matcher=matcher, command=command.strip() or None, release=named or None)


def index_file(settings: Settings) -> Path:
    """The compiled index of the catalog as it is now."""
    path = fresh(settings)
    if path is None:
        with _building:
            path = fresh(settings) or refresh(settings)
    return path
