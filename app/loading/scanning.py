"""From a wheel to the catalog: scan, store, say what came of it.

A release that is in the catalog already, from the same wheel and by the same scanner, is not read
again, so a list of releases that was interrupted can simply be given again.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from sqlmodel import Session, col, func, select

from app.db import session
from app.loading.one_scan import my_turn
from app.loading.releases import STATUSES, load_release
from app.loading.remembered import remember
from app.models import Change, Release
from app.scanner.release import Scan, scanner_digest
from app.settings import Settings
from app.wheels import Wheel

Progress = Callable[[float, str], None]
"""Called with (share done from 0 to 1, what is being done)."""

_READING: Final = 0.85
"""Share of the time that reading takes; the rest is storing."""


def scan_into_catalog(
    wheel: Wheel,
    settings: Settings,
    on_progress: Progress | None = None,
    *,
    again: bool = False,
    begun: Scan | None = None,
) -> dict[str, Any]:
    """Scan a wheel and store it; if that is being done already, wait for it and give its result.

    Args:
        wheel: the opened wheel.
        settings: whose database.
        on_progress: told how far it is.
        again: read it even if it is in the catalog already.
        begun: a scan of this wheel that is going on already.

    Returns:
        The result of `reprobase scan` for this release, see `release_result`.

    Raises:
        UnavailableError: the database or the disk cannot be written; nothing was stored.
    """
    tell = on_progress or (lambda _share, _what: None)
    earlier: list[dict[str, Any] | None] = []

    def waiting() -> None:
        nonlocal begun
        if begun is not None:
            begun.cancel()
            begun = None
        if not earlier:
            with session(settings) as db:
                earlier.append(_stored(db, wheel))
        tell(0.0, "another process is scanning it already, waiting for its result")

    with my_turn(settings, wheel.package, wheel.version, waiting) as waited:
        if waited or not again:
            with session(settings) as db:
                known = _stored(db, wheel)
                if known is not None and not (again and known in earlier):
                    if begun is not None:
                        begun.cancel()
                    remember(settings, wheel.package, wheel.version, wheel.path)
                    tell(1.0, "in the catalog now" if waited else "already in the catalog")
                    return known
        return _scan(wheel, settings, tell, begun)


def _scan(wheel: Wheel, settings: Settings, tell: Progress, begun: Scan | None) -> dict[str, Any]:
    with collector_off():
        scanned = (begun or begin_scan(wheel, settings)).finish(
            lambda done, total: tell(_READING * done / max(total, 1), "reading")
        )
        tell(_READING, "storing")
        storing = time.perf_counter()
        with session(settings) as db:
            loaded = load_release(db, scanned)
            release = db.get_one(Release, loaded.release_id)
            release.seconds = round(scanned.seconds + time.perf_counter() - storing, 3)
    remember(settings, wheel.package, wheel.version, wheel.path)
    tell(1.0, "done")
    with session(settings) as db:
        result = _stored(db, wheel) or {}
    if scanned.failed_patterns:
        result["failedPatterns"] = scanned.failed_patterns
    return result


def begin_scan(wheel: Wheel, settings: Settings) -> Scan:
    """Begin to read a wheel, on this machine or on the cluster that the settings name.

    Raises:
        UnavailableError: there is no cluster at the settings' address.
    """
    if settings.ray_address is None:
        return Scan(wheel, cache=settings.cache_dir)
    from app.loading.spread_reading import SpreadReading  # noqa: PLC0415  # only with a cluster
    from app.spread import spread_of  # noqa: PLC0415  # as above

    reader = partial(SpreadReading, spread=spread_of(settings))
    return Scan(wheel, cache=settings.cache_dir, reader=reader)


@contextmanager
def collector_off() -> Iterator[None]:
    """Without the cyclic garbage collector, which would walk over all sites again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _stored(db: Session, wheel: Wheel) -> dict[str, Any] | None:
    wanted = select(Release).where(
        Release.package == wheel.package,
        Release.version == wheel.version,
        Release.sha256 == wheel.sha256,
        Release.scanner == scanner_digest(),
    )
    release = db.exec(wanted).one_or_none()
    return release_result(db, release) if release is not None else None


def release_result(db: Session, release: Release) -> dict[str, Any]:
    """A scanned release as `reprobase scan --json` and `reprobase releases --json` give it."""
    by_status = (
        select(Change.status, func.count())
        .where(Change.release_id == release.id)
        .group_by(col(Change.status))
    )
    counted: dict[str, int] = dict(db.exec(by_status).all())
    return {
        "package": release.package,
        "version": release.version,
        "files": release.files,
        "unparsed": release.unparsed,
        "sites": release.sites,
        "templates": release.templates,
        "native": release.native,
        "unrecoverable": release.unrecoverable,
        "reraised": release.reraised,
        "entries": release.entries,
        **{status: counted.get(status, 0) for status in STATUSES},
        "seconds": release.seconds,
        "wheel": release.wheel,
        "sha256": release.sha256,
        "scannedAt": release.scanned_at.isoformat().replace("+00:00", "Z"),
    }
