"""Files given as text, read as the scanner reads a wheel."""

import re
from collections.abc import Mapping

from app.scanner.finish import Finisher
from app.scanner.library import Library
from app.scanner.packages import package_facts
from app.scanner.reading import quietly
from app.scanner.records import ScannedSite
from app.scanner.sites import FileSites, read_file

PACKAGE = "sglang"


def read_files(files: Mapping[str, str | bytes], package: str = PACKAGE) -> dict[str, FileSites]:
    """What the scanner finds in each file of a small wheel."""
    raw = {path: t.encode() if isinstance(t, str) else t for path, t in files.items()}
    library = Library(list(raw), raw.__getitem__)
    finish = Finisher(package)
    with quietly():
        found = {
            path: read_file(library.module(path), library, package_facts(package), finish)
            for path in raw
        }
    assert finish.failed == []
    return found


def sites_in(text: str | bytes, path: str = "engine/a.py") -> list[ScannedSite]:
    """The sites of one file."""
    return read_files({path: text})[path].sites


def split_files(sample: str) -> dict[str, str]:
    """The files of a sample, by path; `--- path` begins one."""
    parts = re.split(r"^--- (\S+)\n", sample, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
