"""Source lines out of the user's own wheel, and the link to them at the release's tag."""

import logging
from pathlib import Path

from app.exceptions import ReprobaseError
from app.scanner.excerpt import Excerpt, excerpt
from app.scanner.packages import package_facts
from app.services.history import Place
from app.settings import Settings
from app.wheels import Wheel, cached_wheel

log = logging.getLogger(__name__)
_MOST_OPEN = 32
_opened: dict[tuple[Path, str, str], Wheel] = {}
"""Wheels that were checked already; checking one takes longer than making a page."""


def source_of(package: str, place: Place, settings: Settings) -> Excerpt | None:
    """The lines around a place, or None where the wheel is not in the cache or is damaged."""
    wheel = wheel_at_hand(package, place.version, settings)
    if wheel is None:
        return None
    try:
        return excerpt(wheel, place)
    except (ReprobaseError, OSError, KeyError) as e:
        log.warning("No source of %s in %s %s: %s", place.file, package, place.version, e)
        return None


def wheel_at_hand(package: str, version: str, settings: Settings) -> Wheel | None:
    """A wheel if it is in the cache and sound; a page never downloads one."""
    key = (settings.wheels_dir, package, version)
    wheel = _opened.get(key)
    if wheel is not None and wheel.path.exists():
        return wheel
    try:
        wheel = cached_wheel(package, version, settings)
    except (ReprobaseError, OSError) as e:
        log.warning("The cached wheel of %s %s cannot be read: %s", package, version, e)
        return None
    if wheel is not None:
        if len(_opened) >= _MOST_OPEN:
            _opened.clear()
        _opened[key] = wheel
    return wheel


def repository_file(package: str, file: str) -> str:
    """A file of a wheel as its path in the repository."""
    return package_facts(package).repository_path(file)


def pinned_link(package: str, place: Place) -> str | None:
    """The place on the web, at the tag of its release."""
    return package_facts(package).source_link(place.version, place.file, place.line, place.end_line)
