"""The other releases in the cache, which are asked about a line as well."""

from packaging.version import Version

from app.services.preflight_question import OLDEST
from app.services.preflight_running import Other
from app.settings import Settings
from app.wheels import Wheel, cached_versions, cached_wheel, unpacked, unpacked_folder


def other_versions(wheel: Wheel, settings: Settings) -> list[str]:
    """The cached releases besides this one whose checks can be run, oldest first."""
    own = Version(wheel.version)
    return [
        v
        for v in cached_versions(wheel.package, settings)
        if Version(v) >= OLDEST and Version(v) != own
    ]


def unpacked_others(
    package: str, versions: list[str], settings: Settings, *, unpack: bool
) -> list[Other]:
    """Those of the releases that can be asked.

    Args:
        package: whose releases.
        versions: which of them.
        settings: where the caches lie.
        unpack: unpack what was not before; takes seconds for each.
    """
    found = []
    for version in versions:
        folder = unpacked_folder(package, version, settings)
        if folder is None and unpack:
            wheel = cached_wheel(package, version, settings)
            folder = unpacked(wheel, settings) if wheel is not None else None
        if folder is not None:
            found.append(Other(version, str(folder)))
    return found
