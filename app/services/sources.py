"""Source lines out of the user's own wheel, and the link to them at the release's tag."""

import logging
from functools import lru_cache

from app.exceptions import ReprobaseError
from app.scanner.excerpt import Excerpt, excerpt
from app.scanner.packages import package_facts
from app.services.history import Place
from app.settings import Settings
from app.wheels import Wheel, cached_versions, fetch

log = logging.getLogger(__name__)


def source_of(package: str, place: Place, settings: Settings) -> Excerpt | None:
    """The lines around a place, or None where the wheel is not in the cache or is damaged."""
    wheel = cached_wheel(package, place.version, settings)
    if wheel is None:
        return None
    try:
        return excerpt(wheel, place)
    except (ReprobaseError, OSError, KeyError) as e:
        log.warning("No source of %s in %s %s: %s", place.file, package, place.version, e)
        return None


def cached_wheel(package: str, version: str, settings: Settings) -> Wheel | None:
    """A wheel if it is in the cache and sound; a page never downloads one."""
    try:
        if version not in cached_versions(package, settings):
            return None
        return _opened(package, version, settings)
    except (ReprobaseError, OSError) as e:
        log.warning("The cached wheel of %s %s cannot be read: %s", package, version, e)
        return None


@lru_cache(maxsize=32)
def _opened(package: str, version: str, settings: Settings) -> Wheel:
    return fetch(package, version, settings)


def repository_file(package: str, file: str) -> str:
    """A file of a wheel as its path in the repository."""
    return package_facts(package).repository_path(file)


def pinned_link(package: str, place: Place) -> str | None:
    """The place on the web, at the tag of its release."""
    return package_facts(package).source_link(place.version, place.file, place.line, place.end_line)
