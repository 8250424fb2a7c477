"""A wheel as a read-only folder, for code that has to be imported.

`<cache>/unpacked/<first 16 digits of the sha256>/` is complete or absent: files are written to a
folder beside it, which is then renamed. Two processes that unpack at once both end with one folder.
"""

import shutil
import stat
import tempfile
from pathlib import Path

from app.exceptions import BadWheelError, UnavailableError
from app.settings import Settings
from app.wheels.archive import Wheel

_FILE_MODE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
_DIR_MODE = _FILE_MODE | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def unpacked(wheel: Wheel, settings: Settings) -> Path:
    """The folder that holds the wheel's files, unpacked if it is not there yet.

    Raises:
        BadWheelError: a file in the wheel is damaged.
        UnavailableError: the disk is full or the cache cannot be written.
    """
    target = settings.unpacked_dir / wheel.sha256[:16]
    if target.is_dir():
        return target
    try:
        settings.unpacked_dir.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".unpack-", dir=settings.unpacked_dir))
    except OSError as e:
        raise UnavailableError(f"The cache {settings.cache_dir} cannot be written ({e}).") from e
    try:
        for info in wheel.members():
            if not info.is_dir():
                path = scratch / info.filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(wheel.read(info.filename))
                path.chmod(_FILE_MODE)
        scratch.chmod(_DIR_MODE)
        try:
            scratch.rename(target)
        except OSError:
            if not target.is_dir():  # another process was first: theirs is as good
                raise
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as e:
        shutil.rmtree(scratch, ignore_errors=True)
        raise UnavailableError(f"{wheel.path.name} could not be unpacked ({e}).") from e
    except (BadWheelError, KeyboardInterrupt):
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target
