"""A wheel that came as bytes, put into the cache of the machine that it came to."""

import os
from dataclasses import dataclass
from pathlib import Path

from app.exceptions import UnavailableError
from app.settings import Settings
from app.wheels.archive import Wheel, open_wheel, sha256_of


@dataclass(frozen=True, slots=True)
class SentWheel:
    """A wheel on its way to another machine."""

    package: str
    name: str
    """Of the file."""
    sha256: str
    raw: bytes


def sent(wheel: Wheel) -> SentWheel:
    """A wheel with its bytes, as it is sent."""
    return SentWheel(wheel.package, wheel.path.name, wheel.sha256, wheel.path.read_bytes())


def arrived(wheel: SentWheel, settings: Settings) -> Wheel:
    """The wheel as a file of this machine's cache, written if it is not there yet.

    A file of that name with other bytes is left alone; the wheel then lies in a folder of its own.

    Raises:
        UnavailableError: the disk is full, or the cache cannot be written.
        BadWheelError: the wheel is damaged.
    """
    path = settings.wheels_dir / wheel.package / wheel.name
    try:
        there = path.is_file()
        if there and _differs(path, wheel.sha256):
            path = settings.cache_dir / "arrived" / wheel.sha256[:16] / wheel.name
            there = path.is_file() and not _differs(path, wheel.sha256)
        if not there:
            _write(path, wheel.raw)
    except OSError as e:
        raise UnavailableError(f"{wheel.name} could not be kept in {path.parent} ({e}).") from e
    return open_wheel(path, sha256=wheel.sha256)


def _differs(path: Path, sha256: str) -> bool:
    return sha256_of(path) != sha256


def _write(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(raw)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
