"""Finds many fixed strings in much text at once, at about a gigabyte a second.

Hyperscan where it exists, ahocorasick_rs elsewhere; both give the same hits. Scanning lets go of
the interpreter lock, so several threads can scan at once, each with a `Scanner` of its own. Much
text is sifted first (`app.diagnosis.sieve`): only around a fragment is it looked at for strings.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

try:
    import hyperscan
except ImportError:  # no wheel for this machine
    hyperscan = None  # type: ignore[assignment]  # told apart below

_BETWEEN: Final = 512
"""Bytes of text for each fragment in it below which sifting costs more than it saves."""
_NOT_WORTH_IT: Final = 15
"""Blocks that are then not sifted."""


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

    def sift(self, data: memoryview) -> list[Hit]:
        """The same, faster where most of much text holds nothing."""
        ...


class Literals:
    """A set of fixed strings, compiled.

    Args:
        strings: gives what to look for, called only if it must be compiled; a hit names a string
            by its position.
        compiled: what `dump` gave for the same strings; compiled anew if it does not fit this
            machine or is missing.
        sieve: what `dump` gave for their fragments; without it nothing is sifted.
        longest: bytes of the longest string.
    """

    def __init__(
        self,
        strings: Callable[[], Sequence[bytes]],
        compiled: bytes | memoryview = b"",
        sieve: bytes | memoryview = b"",
        longest: int = 0,
    ) -> None:
        self._database: Any = None
        self._automaton: Any = None
        self._sieve, self._longest = sieve, longest
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
            return _Hyperscan(self._database, self._sieve, self._longest)
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
    def __init__(self, database: Any, sieve: bytes | memoryview, longest: int) -> None:
        self._database = database
        self._scratch = hyperscan.Scratch(database)
        self._hits: list[Hit] = []
        self._compiled_sieve, self._longest = sieve, longest
        self._sieve: Any = None
        self._sieve_scratch: Any = None
        self._ends: list[int] = []
        self._most = self._unsifted = 0
        # Unreferenced callbacks crash the process: these references keep them.
        self._on_hit, self._on_fragment = self._note, self._note_fragment

    def _note(self, literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
        self._hits.append(Hit(literal, end))

    def scan(self, data: bytes | memoryview) -> list[Hit]:
        """Every hit, in the order of their ends."""
        if not len(data):
            return []
        self._hits = []
        self._database.scan(data, match_event_handler=self._on_hit, scratch=self._scratch)
        return self._hits

    def _note_fragment(
        self, _literal: int, _start: int, end: int, _flags: int, _context: object
    ) -> bool:
        self._ends.append(end)
        return len(self._ends) > self._most

    def sift(self, data: memoryview) -> list[Hit]:
        """Every hit, in the order of their ends; of much text that mostly holds none."""
        if self._sieve is None and self._compiled_sieve:
            # only a large log needs it
            self._sieve, self._compiled_sieve = _load(self._compiled_sieve), b""
            self._sieve_scratch = hyperscan.Scratch(self._sieve) if self._sieve else None
        if self._sieve is None or not len(data):
            return self.scan(data)
        if self._unsifted:
            self._unsifted -= 1
            return self.scan(data)
        self._ends, self._most = [], len(data) // _BETWEEN
        try:
            self._sieve.scan(
                data, match_event_handler=self._on_fragment, scratch=self._sieve_scratch
            )
        except hyperscan.ScanTerminated:
            self._unsifted = _NOT_WORTH_IT
            return self.scan(data)
        # what stands around the fragments is put together, for a scan costs more than its bytes
        places = list(self._around(len(data)))
        hits = []
        behind = shift = 0
        ends = iter(places)
        for literal, at in self.scan(b"\n".join([data[a:b] for a, b in places])):
            while at > behind:
                start, end = next(ends)
                shift = start - behind - (behind > 0)
                behind += end - start + (behind > 0)
            hits.append(Hit(literal, at + shift))
        return hits

    def _around(self, size: int) -> Iterator[tuple[int, int]]:
        """Where strings can be that hold one of the fragments, in order and without overlaps."""
        start = end = 0
        for at in self._ends:
            if at - self._longest > end:
                if end:
                    yield start, end
                start = at - self._longest
            end = min(at + self._longest, size)
        if end:
            yield start, end


class _AhoCorasick:
    def __init__(self, automaton: Any) -> None:
        self._automaton = automaton

    def sift(self, data: memoryview) -> list[Hit]:
        """Every hit, in the order of their ends."""
        return self.scan(data)

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
