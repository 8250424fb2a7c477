"""Wheels from the package index, by the user's own pip, into the cache.

One fixed platform and Python are asked for, so that everybody reads the same wheel, and only
wheels, so that nothing is ever built (building executes code). What pip brings is checked, hashed
and moved into `<cache>/wheels/<package>/` in one step: a wheel there is whole, or it is not there.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from app.exceptions import (
    BadInputError,
    BadWheelError,
    NoSuchReleaseError,
    ReprobaseError,
    UnavailableError,
)
from app.settings import Settings
from app.wheels.archive import Wheel, open_wheel, sha256_of

PLATFORMS: Final = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64")
PYTHON: Final = "3.11"
_NEAR: Final = 5
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")

Progress = Callable[[str], None]


def parse_release(text: str) -> tuple[str, str]:
    """Read `package==version`.

    Returns:
        The canonical package name and the normalised version.

    Raises:
        BadInputError: it is something else.
    """
    name, separator, version = text.strip().partition("==")
    if not separator or not _NAME.fullmatch(name.strip()):
        file = " A wheel file is given with --wheel FILE." if text.endswith(".whl") else ""
        raise BadInputError(f"{text!r} is not a release; write it as PACKAGE==VERSION.{file}")
    try:
        return canonicalize_name(name.strip()), str(Version(version.strip()))
    except InvalidVersion:
        raise BadInputError(
            f"{version!r} is not a version; write the release as {name}==1.2.3."
        ) from None


def fetch(
    package: str, version: str, settings: Settings, *, on_progress: Progress | None = None
) -> Wheel:
    """The wheel of a release, from the cache or fetched into it.

    A cached wheel whose bytes changed since it was fetched is dropped and fetched again.

    Raises:
        NoSuchReleaseError: the index has no wheel of that version; names near ones.
        UnavailableError: no network, no pip or no room on the disk.
        BadWheelError: what was fetched is damaged or hostile.
    """
    package, version = parse_release(f"{package}=={version}")
    folder = settings.wheels_dir / package
    cached = _cached(folder, version)
    if cached is not None:
        try:
            return _open_cached(cached)
        except BadWheelError as e:
            if on_progress:
                on_progress(f"{e} Fetching {package}=={version} again.")
            _drop(cached)
    if on_progress:
        on_progress(f"Fetching {package}=={version} with pip ...")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            found = _pip_download(package, version, Path(scratch))
            wheel = open_wheel(found)
            if wheel.package != package or not _is(Version(wheel.version), Version(version)):
                raise BadWheelError(f"pip brought {found.name} for {package}=={version}.")
            target = folder / found.name
            found.replace(target)
            _write_stamp(target, wheel.sha256)
    except OSError as e:
        raise UnavailableError(
            f"The wheel of {package}=={version} could not be kept in {folder} ({e})."
        ) from e
    return open_wheel(target, sha256=wheel.sha256)


def cached_wheel(package: str, version: str, settings: Settings) -> Wheel | None:
    """The wheel of a release if it lies in the cache; nothing is fetched.

    Raises:
        BadWheelError: it is damaged.
    """
    package, version = parse_release(f"{package}=={version}")
    path = _cached(settings.wheels_dir / package, version)
    return _open_cached(path) if path else None


def unpacked_folder(package: str, version: str, settings: Settings) -> Path | None:
    """The folder of a cached release if it was unpacked before; nothing in it is looked at.

    For questions that a wrong answer cannot hurt much and that must be quick: opening a wheel and
    comparing its files takes half a second.
    """
    path = _cached(settings.wheels_dir / canonicalize_name(package), version)
    if path is None:
        return None
    try:
        sha256 = str(json.loads(_stamp_path(path).read_text())["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    folder = settings.unpacked_dir / sha256[:16]
    return folder if folder.is_dir() else None


def cached_versions(package: str, settings: Settings) -> list[str]:
    """Versions of a package whose wheels lie in the cache, oldest first."""
    folder = settings.wheels_dir / canonicalize_name(package)
    versions = {_version_of(p) for p in folder.glob("*.whl")} - {None}
    return [str(v) for v in sorted(v for v in versions if v is not None)]


def _version_of(path: Path) -> Version | None:
    try:
        return Version(path.name.split("-")[1])
    except (IndexError, InvalidVersion):
        return None


def _is(found: Version, wanted: Version) -> bool:
    """Whether it is the release asked for: any build of it (`+cpu`) if none was named."""
    return found == wanted or (wanted.local is None and found.public == wanted.public)


def _cached(folder: Path, version: str) -> Path | None:
    wanted = Version(version)
    found = sorted(
        p for p in folder.glob("*.whl") if (v := _version_of(p)) is not None and _is(v, wanted)
    )
    return found[0] if found else None


def _stamp_path(wheel: Path) -> Path:
    return wheel.with_name(wheel.name + ".json")


def _write_stamp(wheel: Path, sha256: str) -> None:
    """Hash, size and time beside the wheel: while size and time stand, the hash is believed."""
    status = wheel.stat()
    stamp = {"sha256": sha256, "size": status.st_size, "mtimeNs": status.st_mtime_ns}
    part = _stamp_path(wheel).with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(stamp) + "\n")
    part.replace(_stamp_path(wheel))


def _open_cached(path: Path) -> Wheel:
    try:
        stamp = json.loads(_stamp_path(path).read_text())
        known = str(stamp["sha256"])
        status = path.stat()
        fresh = (stamp["size"], stamp["mtimeNs"]) == (status.st_size, status.st_mtime_ns)
    except (OSError, ValueError, KeyError, TypeError):
        # Put there by hand, or its stamp was lost: take it as it is, and remember its hash.
        wheel = open_wheel(path)
        _remember(path, wheel.sha256)
        return wheel
    if not fresh:
        if sha256_of(path) != known:
            raise BadWheelError(f"{path.name} changed since it was fetched; its hash is wrong.")
        _remember(path, known)
    return open_wheel(path, sha256=known)


def _remember(path: Path, sha256: str) -> None:
    try:
        _write_stamp(path, sha256)
    except OSError:
        return  # a cache that is read-only only costs a hash the next time


def _drop(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
        _stamp_path(path).unlink(missing_ok=True)
    except OSError as e:
        raise UnavailableError(f"The damaged {path} cannot be removed ({e}).") from e


def _pip_download(package: str, version: str, target: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    command += ["--python-version", PYTHON, "--implementation", "cp"]
    command += ["--retries", "2", "--timeout", "20", "--disable-pip-version-check", "--no-input"]
    command += ["--quiet", "--dest", str(target), f"{package}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(target.glob("*.whl"))
    if done.returncode == 0 and len(found) == 1:
        return found[0]
    raise _pip_error(package, version, done.stdout + done.stderr)


def _pip_error(package: str, version: str, output: str) -> ReprobaseError:
    """Say what pip's failure means; pip's own last line is kept as the reason."""
    if "No module named pip" in output:
        return UnavailableError(
            f"pip is not installed for {sys.executable}; run `{sys.executable} -m ensurepip`."
        )
    listed = re.search(r"from versions: ([^)]*)\)", output)
    versions = [v.strip() for v in listed[1].split(",")] if listed else []
    versions = [v for v in versions if v and v != "none"]
    errors = [line for line in output.splitlines() if line.startswith("ERROR:")]
    offline = re.search(
        r"NewConnectionError|ConnectTimeout|Name or service|Max retries|Temporary failure|"
        r"NameResolutionError|ProxyError|ReadTimeout",
        output,
    )
    if "No space left" in output or shutil.disk_usage(tempfile.gettempdir()).free < (64 << 20):
        return UnavailableError(f"No room on the disk for the wheel of {package}=={version}.")
    if offline and not versions:
        return UnavailableError(
            f"The package index cannot be reached, and {package}=={version} is not in the cache. "
            f"Connect; or put its wheel into the cache from a file: "
            f"`reprobase scan {package}=={version} --wheel FILE`."
        )
    if "No matching distribution" in output:
        if not versions:
            return NoSuchReleaseError(
                f"The package index has no wheel of {package} for {PLATFORMS[0]} "
                f"and Python {PYTHON}."
            )
        near = _nearest(version, versions)
        return NoSuchReleaseError(
            f"There is no wheel of {package}=={version}. Near ones: {', '.join(near)}.", near=near
        )
    reason = errors[-1].removeprefix("ERROR:").strip() if errors else "pip gave no reason"
    return UnavailableError(f"pip could not fetch {package}=={version}: {reason}")


def _nearest(version: str, versions: list[str]) -> list[str]:
    """The versions just below and above the one asked for, newest first."""
    known = sorted({Version(v) for v in versions})
    position = sum(v < Version(version) for v in known)
    start = max(0, min(position - _NEAR // 2 - 1, len(known) - _NEAR))
    return [str(v) for v in reversed(known[start : start + _NEAR])]
