"""Many logs in pieces, for whoever reads them: a process of this machine or a node of a cluster.

Small logs are read together and travel as bytes, or as a path where the reader has the same disk. A
log above `SENT` is read faster than it is sent: whoever deals the pieces reads it itself, unless a
path is enough.
"""

import io
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, cast

from app.diagnosis.diagnose import diagnose_path, diagnose_stream
from app.diagnosis.index import Index
from app.diagnosis.logs import DAMAGE, FoundLog, find_logs, said
from app.diagnosis.matcher import Matcher
from app.diagnosis.result import Diagnosis
from app.diagnosis.unpacking import Rest
from app.exceptions import ReprobaseError

SENT: Final = 2 << 20
"""Bytes up to which a log is sent: larger ones are searched at hundreds of megabytes a second."""
_PIECE: Final = 256 << 10
_MOST_LOGS: Final = 64


@dataclass(frozen=True, slots=True)
class Named:
    """One log of a piece."""

    name: str
    content: bytes | Path


Piece = tuple[Named, ...]
Answer = Diagnosis | str
"""What a log says, or why it cannot be read."""


@dataclass(frozen=True, slots=True)
class Question:
    """What all pieces share."""

    index: Path | bytes
    digest: str
    """Of the index: a process opens it once."""
    command: str | None = None
    release: str | None = None


def pieces(
    paths: Sequence[Path],
    question: Question,
    *,
    here: bool,
    answered: Callable[[str, Answer], None],
) -> Iterator[Piece]:
    """Deal logs into pieces; what is known already, or is read here, is answered at once.

    Args:
        paths: files, folders, archives.
        question: what is asked.
        here: whether the reader can open this machine's files.
        answered: told the name of a log and its answer.
    """
    kept: list[Named] = []
    size = 0
    seen: dict[str, int] = {}
    for found in find_logs(paths):
        log = found
        nth = seen[log.name] = seen.get(log.name, 0) + 1
        if nth > 1:  # an archive may hold a name twice, and each has its answer
            log = replace(log, name=f"{log.name} ({nth})")
        named = _dealt(log, question, here=here, answered=answered)
        if named is None:
            continue
        kept.append(named)
        size += log.size
        if size >= _PIECE or len(kept) >= _MOST_LOGS:
            yield tuple(kept)
            kept, size = [], 0
    if kept:
        yield tuple(kept)


def _dealt(
    log: FoundLog, question: Question, *, here: bool, answered: Callable[[str, Answer], None]
) -> Named | None:
    if log.problem:
        answered(log.name, log.problem)
        return None
    try:
        if log.path is not None:
            if here:
                return Named(log.name, log.path)
            if log.size <= SENT:
                return Named(log.name, log.path.read_bytes())
            answered(log.name, _answer(log.path, question))
            return None
        stream = cast("BinaryIO", log.stream)
        head = stream.read(SENT + 1)  # an archive may lie about sizes
        if len(head) <= SENT:
            return Named(log.name, head)
        answered(log.name, _answer(cast("BinaryIO", Rest(head, stream)), question))
    except DAMAGE as e:
        answered(log.name, f"It cannot be read to its end ({said(e)}).")
    return None


def read_piece(piece: Piece, question: Question) -> list[tuple[str, Answer]]:
    """Diagnose the logs of a piece; one that cannot be read does not harm the others."""
    return [(log.name, _answer(log.content, question)) for log in piece]


def _answer(content: bytes | Path | BinaryIO, question: Question) -> Answer:
    matcher = _matcher(question)
    command, release = question.command, question.release
    try:
        if isinstance(content, Path):
            return diagnose_path(content, matcher=matcher, command=command, release=release)
        stream = io.BytesIO(content) if isinstance(content, bytes) else content
        return diagnose_stream(stream, matcher=matcher, command=command, release=release)
    except ReprobaseError as e:
        return str(e)


_turn = threading.Lock()
_open: dict[str, Matcher] = {}


def _matcher(question: Question) -> Matcher:
    """The matcher of an index, opened once a process."""
    with _turn:
        if question.digest not in _open:
            _open.clear()
            _open[question.digest] = Matcher(Index(question.index))
        return _open[question.digest]
