"""A wheel as a file: is it one, is it whole, is it harmless, and what does it hold.

A wheel is a foreign zip. Before anything is read its table of contents is checked for paths that
leave the folder, links, names that clash, overlapping members and sizes that no package has
(a bomb), so that reading and unpacking need no second thought.
"""

import hashlib
import stat
import zipfile
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from app.exceptions import BadInputError, BadWheelError, NotFoundError

MAX_MEMBERS: Final = 200_000
MAX_MEMBER_BYTES: Final = 4 << 30
MAX_TOTAL_BYTES: Final = 16 << 30
MAX_RATIO: Final = 500
"""More than this, over a megabyte, and a member is a bomb: text packs 3 to 20 times, a table of
zeros in a compiled library about 200 times."""
_RATIO_FLOOR: Final = 1 << 20
_AGAIN: Final = " Fetch it again; if it lies in the cache, delete it there."


@dataclass(frozen=True, slots=True)
class Wheel:
    """A checked wheel: what it is called, where it lies, what it hashes to."""

    path: Path
    package: str
    """Canonical name, `flashinfer-python`."""
    version: str
    sha256: str
    license: str | None
    _zip: zipfile.ZipFile = field(repr=False, compare=False)

    def names(self) -> list[str]:
        """Paths of the files inside, folders left out, in the archive's order."""
        return [i.filename for i in self._zip.infolist() if not i.is_dir()]

    def size(self, name: str) -> int:
        """Unpacked size of one file in bytes.

        Raises:
            NotFoundError: the wheel holds no such file.
        """
        return self._info(name).file_size

    def read(self, name: str) -> bytes:
        """The bytes of one file.

        Raises:
            NotFoundError: the wheel holds no such file.
            BadWheelError: the file is damaged.
        """
        info = self._info(name)
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as e:
            raise BadWheelError(f"{self.path.name} is damaged at {name!r} ({e}).{_AGAIN}") from e
        except Exception as e:
            # zlib.error, lzma.LZMAError and the like are not OSErrors.
            raise BadWheelError(f"{self.path.name} cannot be unpacked at {name!r} ({e}).") from e

    def members(self) -> list[zipfile.ZipInfo]:
        """The checked table of contents."""
        return self._zip.infolist()

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(name)
        except KeyError:
            raise NotFoundError(f"{self.path.name} holds no file {name!r}.") from None


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in blocks."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def open_wheel(path: Path, *, sha256: str | None = None) -> Wheel:
    """Open a wheel after checking it.

    Args:
        path: the file; its name must be a wheel's.
        sha256: the file's hash if it is known already, else it is computed.

    Raises:
        BadInputError: there is no such file.
        BadWheelError: not a wheel, damaged, or made to do harm.
    """
    if not path.is_file():
        raise BadInputError(f"There is no file {path}.")
    if path.name.endswith((".tar.gz", ".zip", ".tar.bz2")):
        raise BadWheelError(
            f"{path.name} is a source distribution; only wheels (.whl) are read, "
            "because building a source distribution would execute its code."
        )
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, InvalidVersion) as e:
        raise BadWheelError(
            f"{path.name} is not the name of a wheel (name-version-python-abi-platform.whl): {e}"
        ) from e
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as e:
        raise BadWheelError(f"{path.name} cannot be opened as a zip ({e}).{_AGAIN}") from e
    try:
        _check_members(path.name, archive.infolist())
        license_name = _check_metadata(path.name, archive, name, version)
    except BaseException:
        archive.close()
        raise
    return Wheel(
        path=path,
        package=canonicalize_name(name),
        version=str(version),
        sha256=sha256 or sha256_of(path),
        license=license_name,
        _zip=archive,
    )


def _check_members(wheel: str, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MAX_MEMBERS:
        raise BadWheelError(f"{wheel} lists {len(members):,} files, more than any package has.")
    seen: set[str] = set()
    total = 0
    for info in members:
        name = info.filename
        parts = PurePosixPath(name).parts
        if (
            not parts
            or name.startswith("/")
            or "\\" in name
            or "\0" in name
            or ".." in parts
            or ":" in parts[0]
        ):
            raise BadWheelError(f"{wheel} holds the path {name!r}, which leaves its folder.")
        mode = info.external_attr >> 16
        if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise BadWheelError(f"{wheel} holds {name!r}, which is not a plain file.")
        if name in seen:
            raise BadWheelError(f"{wheel} holds {name!r} twice.")
        seen.add(name)
        total += info.file_size
        ratio = info.file_size / max(info.compress_size, 1)
        if info.file_size > MAX_MEMBER_BYTES or total > MAX_TOTAL_BYTES:
            raise BadWheelError(f"{wheel} unpacks to more than any package holds, at {name!r}.")
        if info.file_size > _RATIO_FLOOR and ratio > MAX_RATIO:
            raise BadWheelError(
                f"{wheel} is a zip bomb: {name!r} would grow {ratio:,.0f} times when unpacked."
            )
    _check_overlap(wheel, members)


def _check_overlap(wheel: str, members: list[zipfile.ZipInfo]) -> None:
    """Members whose bytes overlap are how a small zip claims terabytes."""
    end = 0
    for info in sorted(members, key=lambda i: i.header_offset):
        if info.header_offset < end:
            raise BadWheelError(f"{wheel} has overlapping members at {info.filename!r}.")
        end = info.header_offset + 30 + len(info.filename.encode()) + info.compress_size


def _check_metadata(wheel: str, archive: zipfile.ZipFile, name: str, version: Version) -> str:
    """The wheel's own METADATA must name what the file name says; returns the licence."""
    found = [
        i
        for i in archive.infolist()
        if i.filename.count("/") == 1 and i.filename.endswith(".dist-info/METADATA")
    ]
    if len(found) != 1 or found[0].file_size > (8 << 20):
        raise BadWheelError(f"{wheel} has no readable METADATA; it is not a wheel.")
    try:
        headers = BytesHeaderParser().parsebytes(archive.read(found[0]))
        said_name = canonicalize_name(headers["Name"] or "")
        said_version = Version(headers["Version"] or "")
    except Exception as e:
        raise BadWheelError(f"{wheel} has METADATA that cannot be read ({e}).") from e
    if said_name != canonicalize_name(name) or said_version != version:
        raise BadWheelError(
            f"{wheel} says inside that it is {headers['Name']} {headers['Version']}."
        )
    expression = headers["License-Expression"] or headers["License"] or ""
    first = str(expression).strip().splitlines()
    return _short_license(first[0].strip() if first else "", headers.get_all("Classifier") or [])


def _short_license(first_line: str, classifiers: list[str]) -> str:
    """One line for a page: an SPDX id where the metadata gives one, else its own words."""
    if first_line.lower().startswith("apache"):
        return "Apache-2.0"
    if first_line:
        return first_line[:100]
    named = [c.rsplit("::", 1)[-1].strip() for c in classifiers if c.startswith("License ::")]
    return named[-1] if named else "not stated"
