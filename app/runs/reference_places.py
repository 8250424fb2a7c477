"""Where the reference raises an engine's error: read out of its own files by the same scanner."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, cast

from app.runs.places import sites_of_files
from app.runs.requests import place_values, site_values
from app.scanner.identity import bare_class
from app.scanner.records import ScannedSite
from app.scanner.templates import skeleton
from app.settings import PROJECT_ROOT
from app.wheels import Wheel

REFERENCE_DIR: Final = "reproducers/reference"


class _Files:
    """The reference's files, read like those of a wheel."""

    package = "sglang"

    def names(self) -> list[str]:
        """Paths from the project's root."""
        folder = PROJECT_ROOT / REFERENCE_DIR
        return sorted(f"{REFERENCE_DIR}/{p.name}" for p in folder.glob("*.py"))

    def read(self, name: str) -> bytes:
        """A file's bytes."""
        return (PROJECT_ROOT / name).read_bytes()


@lru_cache(maxsize=1)
def reference_sites() -> tuple[ScannedSite, ...]:
    """All error sites of the reference."""
    files = _Files()
    return tuple(sites_of_files(cast("Wheel", files), files.names()))


def reference_places(
    error_class: str, template: str, places: Iterable[str] = ()
) -> tuple[dict[str, Any], ...]:
    """The entry's places in the reference, as a request carries them; empty if it has none.

    Args:
        error_class: bare class name.
        template: the message with its holes.
        places: `file::function` of an entry that a library raises; those of the reference count.
    """
    named = [p for p in places if p.startswith(f"{REFERENCE_DIR}/")]
    if named:
        return place_values(named)
    words = skeleton(template)
    if not words:
        return ()  # an assertion without words is only known by its condition there
    return site_values(
        site
        for site in reference_sites()
        if bare_class(site.error_class) == error_class and skeleton(site.template) == words
    )
