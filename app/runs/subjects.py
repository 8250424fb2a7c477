"""What a reproducer can be run on: the releases that it declares, and the reference."""

import re
import subprocess
import sys
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from app.exceptions import BadInputError, NotFoundError
from app.settings import Settings
from app.wheels import cached_versions, parse_release

REFERENCE: Final = "reference"
_SECONDS: Final = 60
_AVAILABLE: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)


def declared_subjects(
    releases: str | None, settings: Settings, *, reference: bool, fetching: bool = True
) -> list[str]:
    """The subjects of `--on all`: every release that is declared, oldest first, and the reference.

    Args:
        releases: a reproducer's `RELEASES`, `sglang >=0.5.16,<=0.5.23`; None if it declares none.
        settings: where the wheels lie.
        reference: whether it also runs on the reference runtime.
        fetching: whether the package index is asked for releases that are not in the cache; if
            it cannot be reached, the cached ones remain.

    Raises:
        BadInputError: `releases` is not a package and a specifier.
    """
    subjects = []
    if releases:
        package, specifier = read_releases(releases)
        versions = set(cached_versions(package, settings))
        if fetching:
            versions |= set(index_versions(package))
        found = sorted(Version(v) for v in versions)
        subjects = [f"{package}=={v}" for v in found if specifier.contains(v, prereleases=False)]
    return [*subjects, *([REFERENCE] if reference else [])]


def newest_subject(releases: str | None, settings: Settings, *, reference: bool) -> str:
    """What a run is for that names no subject: the newest declared release, cached ones first.

    Raises:
        BadInputError: `releases` is not a package and a specifier.
        NotFoundError: there is none.
    """
    for fetching in (False, True):
        found = declared_subjects(releases, settings, reference=False, fetching=fetching)
        if found:
            return found[-1]
    if reference:
        return REFERENCE
    raise NotFoundError(
        f"No release is known that fits {releases!r}. Name one with --on PACKAGE==VERSION."
    )


def declares(releases: str | None, subject: str, *, reference: bool) -> bool:
    """Whether a reproducer declares a subject, whatever can be listed or fetched today.

    Args:
        releases: a reproducer's `RELEASES`.
        subject: `sglang==0.5.18`, or `reference`.
        reference: whether it also runs on the reference runtime.

    Raises:
        BadInputError: `releases` is not a package and a specifier.
    """
    if subject == REFERENCE:
        return reference
    if not releases:
        return False
    package, specifier = read_releases(releases)
    named, _, version = subject.partition("==")
    try:
        return named == package and specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def read_releases(releases: str) -> tuple[str, SpecifierSet]:
    """The package and the versions of a reproducer's `RELEASES`.

    Raises:
        BadInputError: it is something else.
    """
    match = re.fullmatch(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*?)\s*([<>=!~].*)?", releases)
    bad = BadInputError(
        f"RELEASES = {releases!r} is not a package with versions, like 'sglang >=0.5.16'."
    )
    if match is None:
        raise bad
    try:
        return parse_release(f"{match[1]}==0")[0], SpecifierSet(match[2] or "")
    except InvalidSpecifier as e:
        raise bad from e


def index_versions(package: str) -> list[str]:
    """Versions that the package index offers, oldest first; empty if it cannot be asked."""
    command = [sys.executable, "-m", "pip", "index", "versions", package]
    command += ["--disable-pip-version-check", "--no-input"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    match = _AVAILABLE.search(done.stdout)
    found = []
    for text in match[1].split(",") if match else ():
        try:
            found.append(Version(text.strip()))
        except InvalidVersion:
            continue
    return [str(v) for v in sorted(found)]
