"""Finds the logs in what was given: files, folders, and archives (tar, also packed, and zip).

Nothing is unpacked to a disk: a member of an archive is read where it lies. Archives are told by
their first bytes, not by their names; one inside another is not opened. What cannot be read is
named with the reason, and the rest goes on.
"""

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from app.diagnosis.forms import HEAD, PACKED, form_of, form_of_stream
from app.diagnosis.unpacking import Rest, unpacked
from app.exceptions import BadInputError, ReprobaseError

DAMAGE: Final = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ReprobaseError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
"""What reading an archive raises that is cut, damaged, encrypted or of an unknown form."""

_PEEKED: Final = 64 << 10
"""Bytes of a member that tell whether it is an archive, packed ones too."""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """One log, or the reason why something that was given is none."""

    name: str
    """As it was given; of a folder or an archive with the path inside."""
    size: int = 0
    """Bytes as they lie there; an archive may lie about it."""
    path: Path | None = None
    """Where it is a file."""
    stream: BinaryIO | None = None
    """Where it is a member of an archive; to be read before the next one is asked for."""
    problem: str = ""


def check_folder(path: Path) -> None:
    """Refuse a folder without a file, before anything is made for it.

    Raises:
        BadInputError: there is none, or the folder cannot be read.
    """
    try:
        # in a folder that may not be looked into nothing is a file; the others may hold a log
        if any(os.path.isfile(f) for f in path.rglob("*")):  # noqa: PTH113  # Path.is_file() raises
            return
    except OSError as e:
        raise BadInputError(f"{path} cannot be read: {e.strerror or e}.") from e
    raise BadInputError(f"{path} cannot be read: it is a folder without a file.")


def find_logs(paths: Sequence[Path]) -> Iterator[FoundLog]:
    """The logs in files, folders and archives, one after another."""
    for path in paths:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                try:
                    wanted = file.is_file()
                except OSError as e:
                    yield FoundLog(shown(str(file)), problem=f"It cannot be read ({said(e)}).")
                    continue
                if wanted:
                    yield from _of_file(file)
        else:
            yield from _of_file(path)


def shown(name: str) -> str:
    """A name that came out of an archive, fit for a terminal."""
    return "".join(c if c.isprintable() else "?" for c in name)


def _of_file(path: Path) -> Iterator[FoundLog]:
    name = shown(str(path))
    try:
        form = form_of(path)
        if form == "log":
            yield FoundLog(name, path.stat().st_size, path=path)
            return
        with path.open("rb") as file:
            yield from _of_zip(name, file) if form == "zip" else _of_tar(name, file)
    except DAMAGE as e:
        yield FoundLog(name, problem=f"It cannot be read to its end ({said(e)}).")


def _of_tar(name: str, file: BinaryIO) -> Iterator[FoundLog]:
    head = file.read(HEAD)
    if head.startswith(PACKED):
        file = unpacked(file, head)
    else:
        file.seek(0)
    # read in one go from start to end, as a pipe: members are not looked up
    with tarfile.open(fileobj=file, mode="r|", errorlevel=1) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                inside = f"{name}/{shown(member.name)}"
                yield _member(inside, member.size, cast("BinaryIO", stream))


def _of_zip(name: str, file: BinaryIO) -> Iterator[FoundLog]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            inside = f"{name}/{shown(info.filename)}"
            try:
                with archive.open(info) as stream:
                    yield _member(inside, info.file_size, cast("BinaryIO", stream))
            except DAMAGE as e:
                yield FoundLog(inside, problem=f"It cannot be read ({said(e)}).")


def _member(name: str, size: int, stream: BinaryIO) -> FoundLog:
    """A member of an archive; read as one log, an archive would mix up all that it holds."""
    head = stream.read(_PEEKED)
    if form_of_stream(io.BytesIO(head)) != "log":
        return FoundLog(name, problem="It is an archive inside an archive; unpack the outer one.")
    return FoundLog(name, size, stream=cast("BinaryIO", io.BufferedReader(Rest(head, stream))))


def said(error: BaseException) -> str:
    """What an error says, fit to stand in brackets."""
    return str(error).strip().rstrip(".") or type(error).__name__
