"""The unpacked folder of a wheel, with every file in it as the wheel has it.

The bytes are compared once a process and again when a file's size or time changed. A damaged folder
is not taken away under a run that may be using it: a whole one takes its place in one step, and the
damaged one is removed when no run can still be at work in it.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.exceptions import UnavailableError
from app.settings import Settings
from app.wheels import Wheel, unpacked

KEPT_SECONDS: Final = 3600
"""How long a damaged folder is kept: longer than any run."""
_ASIDE: Final = ".damaged-"
_BLOCK: Final = 1 << 20
_whole: dict[Path, int] = {}
"""Folder -> fingerprint of the sizes and times of its files when its bytes were last right."""
_lock = threading.Lock()


def whole_folder(wheel: Wheel, settings: Settings) -> Path:
    """The folder that holds the wheel's files, unpacked anew if a file of it is not the wheel's.

    Raises:
        BadWheelError: the wheel is damaged.
        UnavailableError: the disk is full, or the damaged folder cannot be replaced.
    """
    root = unpacked(wheel, settings)
    with _lock:  # one thread reads the bytes, the others find them known
        if _is_whole(wheel, root):
            return root
        try:
            with _turn(settings.unpacked_dir):
                _remove_old(settings.unpacked_dir)
                if not _is_whole(wheel, root):  # perhaps another process was first
                    _exchange(wheel, root, settings)
        except OSError as e:
            raise UnavailableError(f"The damaged folder {root} cannot be replaced ({e}).") from e
    return root


def _is_whole(wheel: Wheel, root: Path) -> bool:
    files = [info for info in wheel.members() if not info.is_dir()]
    try:
        found = [os.stat(f"{root}/{info.filename}") for info in files]  # noqa: PTH116  # thousands
        if any(s.st_size != info.file_size for s, info in zip(found, files, strict=True)):
            return False
        fingerprint = hash(tuple((s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in found))
        if _whole.get(root) == fingerprint:
            return True
        if any(_checksum(root / info.filename) != info.CRC for info in files):
            return False
    except OSError:
        return False
    _whole[root] = fingerprint
    return True


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value


def _exchange(wheel: Wheel, root: Path, settings: Settings) -> None:
    """Put a whole folder in the place of a damaged one."""
    place = Path(tempfile.mkdtemp(prefix=".repair-", dir=root.parent))
    try:
        fresh = unpacked(wheel, replace(settings, cache_dir=place))
        mode = stat.S_IMODE(fresh.stat().st_mode)
        fresh.chmod(0o755)  # a folder that changes its parent is written to
        aside = root.with_name(f"{_ASIDE}{root.name}-{time.time_ns()}")
        root.rename(aside)
        os.utime(aside)
        fresh.rename(root)
        root.chmod(mode)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _remove_old(folder: Path) -> None:
    for path in folder.glob(f"{_ASIDE}*"):
        if time.time() - path.stat().st_mtime > KEPT_SECONDS:
            path.chmod(0o755)
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Hold the folder's lock among all processes."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
