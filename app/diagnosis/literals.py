"""Finds many fixed strings in much text at once, at about a gigabyte a second.

Hyperscan where it exists, ahocorasick_rs elsewhere; both give the same hits. Scanning lets go of
the interpreter lock, so several threads can scan at once, each with a `Scanner` of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

try:
    import hyperscan
except ImportError:  # no wheel for this machine
    hyperscan = None  # type: ignore[assignment]  # told apart below


class Hit(NamedTuple):
    """One place where a fixed string stands."""

    literal: int
    end: int
    """Offset behind its last byte."""


class Scanner(Protocol):
    """Scans blocks of bytes; not to be shared between threads."""

    def scan(self, data: bytes | memoryview) -> list[Hit]:
        """Every hit, in the order of their ends."""
        ...


class Literals:
    """A set of fixed strings, compiled.

    Args:
        strings: gives what to look for, called only if it must be compiled; a hit names a string
            by its position.
        compiled: what `dump` gave for the same strings; compiled anew if it does not fit this
            machine or is missing.
    """

    def __init__(
        self, strings: Callable[[], Sequence[bytes]], compiled: bytes | memoryview = b""
    ) -> None:
        self._database: Any = None
        self._automaton: Any = None
        if hyperscan is not None:
            self._database = _load(compiled) or _compile(strings())
        else:
            self._automaton = _automaton(strings())

    def dump(self) -> bytes:
        """The compiled form, for the index file; empty where there is none."""
        return bytes(hyperscan.dumpb(self._database)) if self._database is not None else b""

    def scanner(self) -> Scanner:
        """A scanner of its own for a thread."""
        if self._database is not None:
            return _Hyperscan(self._database)
        return _AhoCorasick(self._automaton)


def _load(compiled: bytes | memoryview) -> Any:
    if not compiled:
        return None
    try:
        return hyperscan.loadb(bytes(compiled), hyperscan.HS_MODE_BLOCK)
    except hyperscan.HyperscanError:
        return None  # written by another version or on another machine


def _compile(strings: Sequence[bytes]) -> Any:
    if not strings:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=list(strings),
        ids=list(range(len(strings))),
        elements=len(strings),
        flags=[0] * len(strings),
        literal=True,
    )
    return database


class _Hyperscan:
    def __init__(self, database: Any) -> None:
        self._database = database
        self._scratch = hyperscan.Scratch(database)
        self._hits: list[Hit] = []
        # An unreferenced callback crashes the process: this reference keeps it.
        self._on_hit = self._note

    def _note(self, literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
        self._hits.append(Hit(literal, end))

    def scan(self, data: bytes | memoryview) -> list[Hit]:
        """Every hit, in the order of their ends."""
        if not len(data):
            return []
        self._hits = []
        self._database.scan(data, match_event_handler=self._on_hit, scratch=self._scratch)
        return self._hits


class _AhoCorasick:
    def __init__(self, automaton: Any) -> None:
        self._automaton = automaton

    def scan(self, data: bytes | memoryview) -> list[Hit]:
        """Every hit, in the order of their ends."""
        if self._automaton is None or not len(data):
            return []
        found = self._automaton.find_matches_as_indexes(bytes(data), overlapping=True)
        return sorted((Hit(literal, end) for literal, _, end in found), key=lambda h: h.end)


def _automaton(strings: Sequence[bytes]) -> Any:
    if not strings:
        return None
    from ahocorasick_rs import BytesAhoCorasick  # noqa: PLC0415  # only where there is no hyperscan

    return BytesAhoCorasick(list(strings))


ENGINE: Final = (
    f"hyperscan {vars(hyperscan)['__version__']}" if hyperscan is not None else "ahocorasick"
)
"""What compiled a database; part of an index file's name."""
