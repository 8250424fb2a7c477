"""The source lines around a site, read from the user's own wheel, and whose licence they have."""

from pathlib import PurePosixPath
from typing import Final, NamedTuple, Protocol

from app.exceptions import NotFoundError
from app.scanner.source import read_source
from app.wheels import Wheel

CONTEXT: Final = 6
MOST_LINES: Final = 80
_LICENSE_NAMES: Final = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
_MARKS: Final = (
    ("Apache License", "Apache-2.0"),
    ("MIT License", "MIT"),
    ("Permission is hereby granted, free of charge", "MIT"),
    ("BSD 3-Clause", "BSD-3-Clause"),
    ("Neither the name of", "BSD-3-Clause"),
    ("Redistribution and use in source and binary forms", "BSD-2-Clause"),
    ("Mozilla Public License", "MPL-2.0"),
    ("GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"),
    ("GNU GENERAL PUBLIC LICENSE", "GPL"),
    ("ISC License", "ISC"),
    ("Boost Software License", "BSL-1.0"),
)


class Place(Protocol):
    """A site, as far as it matters here."""

    file: str
    line: int
    end_line: int


class Excerpt(NamedTuple):
    """Some lines of a file in a wheel."""

    code: str
    start: int
    """Line number of the first line of `code`."""
    end: int
    license: str | None
    """An SPDX name where it can be told, else the licence file's first line."""
    license_file: str | None
    """Path in the wheel of the licence that is nearest to the file; `None`: the wheel's own."""


def excerpt(wheel: Wheel, site: Place, *, context: int = CONTEXT) -> Excerpt:
    """The lines of a site with some around them.

    Args:
        wheel: the release the site is in.
        site: a scanned site or a row of the catalog.
        context: lines before and after.

    Raises:
        NotFoundError: the wheel has no such file, or the file has no such line.
    """
    lines = read_source(wheel.read(site.file)).text.decode("utf-8", "replace").split("\n")
    if not 1 <= site.line <= len(lines):
        raise NotFoundError(f"{site.file} has {len(lines)} lines, there is no line {site.line}.")
    start = max(1, site.line - context)
    end = min(len(lines), site.end_line + context, start + MOST_LINES - 1)
    while end > site.end_line and not lines[end - 1].strip():
        end -= 1
    name, path = license_of(wheel, site.file)
    return Excerpt("\n".join(lines[start - 1 : end]), start, end, name, path)


def license_of(wheel: Wheel, file: str) -> tuple[str | None, str | None]:
    """The licence a file is under: that of the nearest folder which has one, else the wheel's."""
    present = set(wheel.names())
    folder = PurePosixPath(file).parent
    while folder.parts:
        for name in _LICENSE_NAMES:
            for ending in ("", ".txt", ".md", ".rst"):
                path = str(folder / (name + ending))
                if path in present:
                    return _name_of(wheel.read(path).decode("utf-8", "replace")), path
        folder = folder.parent
    return wheel.license, None


def _name_of(text: str) -> str | None:
    for mark, name in _MARKS:
        if mark in text:
            return name
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first[:100] or None
