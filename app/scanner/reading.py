"""One share of a wheel's files → their sites, finished: ids, families, patterns put to the test.

This is what a child process does; it imports nothing that takes long to import.
"""

import gc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.scanner.finish import Finisher
from app.scanner.library import SOURCE_NAME, Library
from app.scanner.native import read_native
from app.scanner.packages import package_facts
from app.scanner.records import ScannedSite
from app.scanner.sites import read_file


@dataclass(slots=True)
class Part:
    """A share of the work."""

    package: str
    wheel: str
    """Path of the wheel; it was checked before."""
    python: list[str]
    native: list[str]


@dataclass(slots=True)
class Answer:
    """What came of some files."""

    bytes_read: int = 0
    sites: list[ScannedSite] = field(default_factory=list)
    unparsed: list[dict[str, Any]] = field(default_factory=list)
    failed_patterns: list[dict[str, Any]] = field(default_factory=list)
    reraised: int = 0
    has_families: bool = False
    """Whether the sites have their families already."""


def read_part(
    part: Part, library: Library, read: Callable[[str], bytes], *, batch: int = 2_000_000
) -> Iterator[Answer]:
    """Read the files of a share, giving an answer every few megabytes.

    Args:
        part: the files.
        library: the wheel's Python files, all of them.
        read: gives a file's bytes.
        batch: bytes after which an answer is given.
    """
    facts = package_facts(part.package)
    finish = Finisher(part.package)
    answer = Answer()
    with quietly():
        for path in part.python:
            module = library.module(path)
            found = read_file(module, library, facts, finish)
            if found.problem:
                answer.unparsed.append({"file": path, "reason": found.problem})
            answer.reraised += found.reraised
            answer.sites += found.sites
            answer.bytes_read += len(module.text)
            if answer.bytes_read >= batch:
                yield answer
                answer = Answer()
    for path in part.native:
        raw = read(path)
        answer.sites += read_native(path, raw, finish, facts.skip)
        answer.bytes_read += len(raw)
        if answer.bytes_read >= batch:
            yield answer
            answer = Answer()
    answer.failed_patterns += finish.failed
    yield answer


@contextmanager
def quietly() -> Iterator[None]:
    """Parse without the warnings that the engine's own invalid escapes give.

    The filter names what `parse_text` calls its sources and stays, so that threads do not take it
    away from each other.
    """
    warnings.filterwarnings("ignore", module=SOURCE_NAME)
    yield


def run_part(part: Part, names: list[str]) -> Iterator[Answer]:
    """Read a share of a wheel from its file: the body of a child process."""
    gc.disable()  # trees are freed by reference counts; the collector only walks over them
    with zipfile.ZipFile(part.wheel) as archive:
        library = Library(names, archive.read)
        yield from read_part(part, library, archive.read)
