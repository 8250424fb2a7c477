"""The compiled index: everything a diagnosis must know of the catalog, in one mapped file.

The file is written by `app.diagnosis.packing` and read by `Index` through mmap: opening it costs a
millisecond, and only the records of messages that were really found are decoded. Layout: magic,
 length and JSON of the table of contents, then sections aligned to eight bytes.

| section | content |
|---|---|
| meta | JSON: releases, versions of writer and matcher, flags of the engine's command line |
| matcher | the literal database as hyperscan serialised it |
| sieve | the literal database of `app.diagnosis.sieve`, serialised alike |
| literals, literal_at | the fixed strings that are looked for, and their offsets |
| postings, posting_at | literal → records |
| reach | literal → one byte, see `Index.reach` |
| records, record_at | one JSON list a template: the fields of its record, without the empty last |
| by_function | JSON: function name → class → records that no literal finds |
| by_class | JSON: class → curated records that no literal finds |
| opening_keys, opening_records | first letters of a message → records |
| ids, id_records | entry ids as sorted 64-bit numbers → record |
| places, place_keys, place_at | functions of the engine's files over the releases, see `places` |
"""

import json
import mmap
import zlib
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from app.exceptions import UnavailableError

_DECODE: Final = json.JSONDecoder().raw_decode
MAGIC: Final = b"RPBIDX04"
ALIGN: Final = 8


@dataclass(slots=True)
class TemplateRecord:
    """One wording of one error, and every place it has had."""

    entry_id: str
    package: str
    error_class: str
    kind: str
    """raise | assert | argparse | http | log | native | silent."""
    template: str
    """With its holes as `{expr}`."""
    parts: list[str]
    """Fixed text around the holes, one more than holes."""
    holes: list[str]
    """Expressions, in order."""
    sites: list[list[Any]] = field(default_factory=list)
    """[[file, function, {release index: [lines]}]], newest place first."""
    condition: str = ""
    """The innermost guard of the newest place, as source."""
    level: str = ""
    """Of a log message: warning, error, exception, critical."""
    family: str = ""
    slug: str = ""
    severity: str = ""
    becomes: str = ""
    """Entry that later releases say instead."""
    raised_by: str = ""
    """The library that raises it: then the place is the innermost frame of the engine."""
    pattern: str = ""
    """Curated regex with named groups, in place of `parts`."""
    literals: list[str] = field(default_factory=list)
    """Curated fixed strings that lead to `pattern`."""
    title: str = ""
    meaning: str = ""
    fixes: list[str] = field(default_factory=list)
    """Markdown, best first."""
    not_this_if: list[str] = field(default_factory=list)


QUIET: Final = 128
"""In a byte of `reach`: the string leads to warnings only."""


def reach_of(records: Iterable[TemplateRecord]) -> int:
    """What `Index.reach` tells of a string that leads to these records, as one byte."""
    known = list(records)
    lines = max((sum(p.count("\n") for p in r.parts) for r in known), default=0)
    quiet = bool(known) and all(r.level.upper().endswith("WARNING") for r in known)
    return min(lines, QUIET - 1) | (QUIET if quiet else 0)


def key64(text: str) -> int:
    """A 64-bit key of a string, the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) << 32 | zlib.adler32(data[::-1])


OPENING: Final = 14
"""Letters and digits by which a message is recognised that no fixed string leads to."""


def opening(text: str) -> str | None:
    """The first letters and digits of a message in small letters; None if there are too few."""
    dense = "".join(c for c in text[: 4 * OPENING].lower() if c.isalnum())
    return dense[:OPENING] if len(dense) >= OPENING else None


class Index:
    """An index file, or the same bytes in memory.

    Args:
        source: path of a file, or bytes from `pack`.

    Raises:
        UnavailableError: there is no such file, or it is none.
    """

    def __init__(self, source: Path | bytes) -> None:
        self.path = source if isinstance(source, Path) else None
        self._data = memoryview(source if isinstance(source, bytes) else _map(source))
        if bytes(self._data[:8]) != MAGIC:
            raise UnavailableError(
                f"{self.path or 'These bytes'} is no index of this version; "
                "run `reprobase load` to write it anew."
            )
        size = int.from_bytes(self._data[8:16], "little")
        self._toc = json.loads(bytes(self._data[16 : 16 + size]))
        self._base = -(-(16 + size) // ALIGN) * ALIGN
        self.meta: dict[str, Any] = json.loads(bytes(self.section("meta")))
        self.releases: list[tuple[str, str]] = [(p, v) for p, v in self.meta["releases"]]
        self.newest = {package: number for number, (package, _) in enumerate(self.releases)}
        """Package → number of its newest scanned release."""
        """(package, version) in version order within each package."""
        self._record_at = self.section("record_at").cast("I")
        self._posting_at = self.section("posting_at").cast("I")
        self._postings = self.section("postings").cast("I")
        self._literal_at = self.section("literal_at").cast("I")
        self._reach = self.section("reach")
        self._records = self.section("records")
        self.record = lru_cache(maxsize=20_000)(self._record)
        self._classes: dict[str, list[int]] | None = None
        self._functions: dict[str, dict[str, list[int]]] | None = None

    def section(self, name: str) -> memoryview:
        """The bytes of one section."""
        at, size = self._toc[name]
        return self._data[self._base + at : self._base + at + size]

    @property
    def size(self) -> int:
        """How many templates there are."""
        return len(self._record_at) - 1

    def _record(self, number: int) -> TemplateRecord:
        a, b = self._record_at[number], self._record_at[number + 1]
        values, _ = _DECODE(str(self._records[a:b], "utf-8"))
        return TemplateRecord(*values)

    def literal(self, number: int) -> bytes:
        """One of the strings that are looked for."""
        a, b = self._literal_at[number], self._literal_at[number + 1]
        return bytes(self.section("literals")[a:b])

    @property
    def longest(self) -> int:
        """Bytes of the longest of them."""
        return int(self.meta["longest"])

    def literals(self) -> list[bytes]:
        """All of them, in the order of their numbers."""
        return [self.literal(n) for n in range(len(self._literal_at) - 1)]

    def posting(self, literal: int) -> list[int]:
        """Records that a literal leads to."""
        return list(self._postings[self._posting_at[literal] : self._posting_at[literal + 1]])

    def reach(self, literal: int) -> tuple[int, bool]:
        """(lines that a message goes on for, it is of warnings only) of a literal's records."""
        told = self._reach[literal]
        return told & ~QUIET, bool(told & QUIET)

    def by_function(self, leaf: str, error_class: str) -> list[int]:
        """Records without words of their own that a function of this name raises."""
        if self._functions is None:
            self._functions = dict(json.loads(bytes(self.section("by_function"))))
        return self._functions.get(leaf, {}).get(error_class, [])

    def by_class(self, error_class: str) -> list[int]:
        """Curated records that only the class leads to."""
        if self._classes is None:
            self._classes = dict(json.loads(bytes(self.section("by_class"))))
        return self._classes.get(error_class, [])

    def by_opening(self, text: str) -> list[int]:
        """Records whose message begins with the same letters, whatever their case."""
        start = opening(text)
        if start is None:
            return []
        keys, numbers = (
            self.section("opening_keys").cast("Q"),
            self.section("opening_records").cast("I"),
        )
        wanted = key64(start)
        at = bisect_left(keys, wanted)
        found = []
        while at < len(keys) and keys[at] == wanted:
            found.append(numbers[at])
            at += 1
        return found

    def by_id(self, entry_id: str) -> TemplateRecord | None:
        """The record of an entry."""
        ids = self.section("ids").cast("Q")
        wanted = int(entry_id, 16)
        at = bisect_left(ids, wanted)
        if at < len(ids) and ids[at] == wanted:
            return self.record(self.section("id_records").cast("I")[at])
        return None

    def place(self, file: str) -> dict[str, Any] | None:
        """Functions of one file over the releases: {"names", "variants"}; None if unknown."""
        keys = self.section("place_keys").cast("Q")
        wanted = key64(file)
        at = bisect_left(keys, wanted)
        if at == len(keys) or keys[at] != wanted:
            return None
        offsets = self.section("place_at").cast("I")
        blob = bytes(self.section("places")[offsets[at] : offsets[at + 1]])
        return dict(json.loads(zlib.decompress(blob)))


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as e:
        raise UnavailableError(
            f"The compiled index {path} cannot be read ({e}); run `reprobase load` to write it."
        ) from e
