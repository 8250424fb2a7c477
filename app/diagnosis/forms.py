"""What a file is by its first bytes, whatever its name: a log, or an archive of logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from app.exceptions import ReprobaseError

if TYPE_CHECKING:
    from typing import BinaryIO

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
PACKED: Final = (GZIP, ZSTD)
"""How compressed files begin."""
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""How a zip begins, one without members too."""
Form = Literal["log", "tar", "zip"]
HEAD: Final = 512
"""Bytes of a tar's first block, by which it is told."""


def is_one_log(path: Path) -> bool:
    """Whether a path is a log by itself, neither a folder nor an archive."""
    return not path.is_dir() and form_of(path) == "log"


def form_of(path: Path) -> Form:
    """What a file is; `log` also where it cannot be read: reading it as one tells why."""
    try:
        with path.open("rb") as file:
            return form_of_stream(cast("BinaryIO", file))
    except OSError:
        return "log"


def form_of_stream(stream: "BinaryIO") -> Form:
    """What a stream is by its beginning, of which some is read."""
    head = stream.read(HEAD)
    if head.startswith(_ZIP):
        return "zip"
    try:
        if head.startswith(PACKED):
            from app.diagnosis.unpacking import unpacked  # noqa: PLC0415  # most logs are plain

            head = unpacked(stream, head).read(HEAD)
    except (OSError, ReprobaseError):
        return "log"
    return "tar" if head[257:262] == b"ustar" else "log"
