"""Makes every index of the catalog that is missing; as a program, for the settings' database.

What the first search, the first entry page and the first diagnosis would have to wait for.
"""

import contextlib
from collections.abc import Callable, Iterator

from app.db import session, touch
from app.diagnosis.catalog import fresh
from app.loading import index
from app.search import refresh
from app.services.indexing import all_made
from app.services.related import all_related
from app.settings import Settings, load_settings


def make_indexes(settings: Settings, progress: Callable[[str], None] | None = None) -> None:
    """Make what is missing; one process at a time, another waits and finds it made.

    Args:
        settings: where database and indexes are.
        progress: told what is being done.
    """
    say = progress or (lambda _: None)
    with _one_at_a_time(settings):
        with session(settings) as db:
            if all_made(db, settings):
                return
        if fresh(settings) is None:
            index.refresh(settings, progress=say)
        say("making it searchable")
        with session(settings) as db:
            refresh(db, settings)
            all_related(db, settings)
        with session(settings) as db:
            touch(db, catalog=False)  # pages that were rendered without them are rendered anew


@contextlib.contextmanager
def _one_at_a_time(settings: Settings) -> Iterator[None]:
    try:
        import fcntl  # noqa: PLC0415  # not on every platform; there, two may do it at once
    except ImportError:
        yield
        return
    path = settings.cache_dir / "state" / "index.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    make_indexes(load_settings())
