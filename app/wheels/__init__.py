"""Wheels: fetched by the user's own pip, verified, and read out of the zip.

Nothing in here executes a line of what a wheel holds.
"""

from app.wheels.archive import Wheel, open_wheel
from app.wheels.fetch import (
    cached_versions,
    cached_wheel,
    fetch,
    parse_release,
    unpacked_folder,
)
from app.wheels.unpack import unpacked

__all__ = [
    "Wheel",
    "cached_versions",
    "cached_wheel",
    "fetch",
    "open_wheel",
    "parse_release",
    "unpacked",
    "unpacked_folder",
]
