"""`diagnose(log) -> Diagnosis`: what went wrong, from a text, a file or a pipe of any size.

Small logs are read line by line. In large ones the telling places are found first
(`app.diagnosis.large`), and only these are read.
"""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from app.diagnosis.decoding import LOOKED_AT, Recoded, check, coding_of, decoded
from app.diagnosis.forms import PACKED
from app.diagnosis.index import Index
from app.exceptions import BadInputError

if TYPE_CHECKING:
    from app.diagnosis.blocks import Source
    from app.diagnosis.large import Progress, Survey
    from app.diagnosis.matcher import Matcher
    from app.diagnosis.result import Diagnosis
    from app.diagnosis.strings import Strings

    Known = Matcher | Strings | Index | Path

SMALL: Final = 2 << 20
"""Bytes up to which a log is read line by line."""


def diagnose(
    log: str | bytes,
    *,
    matcher: "Known",
    command: str | None = None,
    release: str | None = None,
) -> "Diagnosis":
    """Say what went wrong in a log.

    Args:
        log: the text; bytes are UTF-8 unless a mark says otherwise, what is none is replaced.
        matcher: the compiled index, opened or not.
        command: the launch line, if known.
        release: `sglang==0.5.20`, if known; inferred from the log otherwise.

    Raises:
        BadInputError: the bytes are no text.
    """
    if len(log) > SMALL:
        from app.diagnosis.blocks import BytesSource  # noqa: PLC0415  # most logs are small and plain

        data = log if isinstance(log, bytes) else log.encode("utf-8", "replace")
        return _survey(BytesSource(data), matcher=matcher, command=command, release=release)
    from app.diagnosis.answer import of_lines  # noqa: PLC0415  # the search of a large log begins without it
    from app.diagnosis.lines import clean  # noqa: PLC0415  # and this

    known = opened(matcher)
    text = log if isinstance(log, str) else decoded(log)
    lines = clean(text)
    total = text.count("\n") + (text[-1:] not in ("", "\n")) if text.strip() else 0
    return of_lines(lines, matcher=known, command=command, release=release, total=total, text=text)


def searched(known: "Known") -> "Strings | Matcher":
    """The fixed strings of an index, opened or not."""
    from app.diagnosis.strings import Strings  # noqa: PLC0415  # see `opened`

    if isinstance(known, Path):
        known = Index(known)
    return Strings(known) if isinstance(known, Index) else known


def opened(known: "Known") -> "Matcher":
    """The matcher of an index, opened or not."""
    from app.diagnosis.matcher import Matcher  # noqa: PLC0415  # the search of a large log begins without it

    strings = searched(known)
    return strings if isinstance(strings, Matcher) else Matcher(strings)


def diagnose_path(
    path: Path,
    *,
    matcher: "Known",
    command: str | None = None,
    release: str | None = None,
    progress: "Progress | None" = None,
) -> "Diagnosis":
    """Diagnose a file, plain, gzip or zstd.

    Raises:
        BadInputError: there is no such file, it cannot be read, or it is no text.
    """
    try:
        with path.open("rb", buffering=0) as file:
            head = _some(cast("BinaryIO", file), SMALL + 1)
            status = os.fstat(file.fileno())
            plain = not head.startswith(PACKED) and stat.S_ISREG(status.st_mode)
            if plain and len(head) > SMALL and coding_of(head)[0] == "utf-8":
                check(head[:LOOKED_AT].decode("utf-8", "replace"))
                from app.diagnosis.sharing import survey_file  # noqa: PLC0415  # most logs are small and plain

                matcher = searched(matcher)
                found = survey_file(matcher, file.fileno(), status.st_size, progress)
                return _answer(found, matcher=matcher, command=command, release=release)
            return _read(
                cast("BinaryIO", file),
                head,
                matcher=matcher,
                command=command,
                release=release,
                progress=progress,
            )
    except OSError as e:
        raise _unreadable(path, e) from e


def check_readable(path: Path) -> None:
    """Try whether a file can be read at all, before anything is made for it.

    Raises:
        BadInputError: it cannot.
    """
    try:
        path.open("rb").close()
    except OSError as e:
        raise _unreadable(path, e) from e


def _unreadable(path: Path, error: OSError) -> BadInputError:
    return BadInputError(f"{path} cannot be read: {error.strerror or error}.")


def diagnose_stream(
    stream: BinaryIO,
    *,
    matcher: "Known",
    command: str | None = None,
    release: str | None = None,
    progress: "Progress | None" = None,
) -> "Diagnosis":
    """Diagnose a pipe, plain, gzip or zstd.

    Raises:
        BadInputError: it cannot be read or unpacked, or it is no text.
    """
    head = _some(stream, SMALL + 1)
    return _read(stream, head, matcher=matcher, command=command, release=release, progress=progress)


def _read(
    stream: BinaryIO,
    head: bytes,
    *,
    matcher: "Known",
    command: str | None,
    release: str | None,
    progress: "Progress | None",
) -> "Diagnosis":
    if head.startswith(PACKED):
        from app.diagnosis.unpacking import unpacked  # noqa: PLC0415  # most logs are small and plain

        stream = unpacked(stream, head)
        head = _some(stream, SMALL + 1)
    coding, mark = coding_of(head)
    if coding != "utf-8":
        stream = cast("BinaryIO", Recoded(stream, head[mark:], coding))
        head = _some(stream, SMALL + 1)
    if len(head) <= SMALL:
        return diagnose(head, matcher=matcher, command=command, release=release)
    check(head[:LOOKED_AT].decode("utf-8", "replace"))
    from app.diagnosis.blocks import StreamSource  # noqa: PLC0415  # most logs are small and plain

    return _survey(
        StreamSource(stream, head),
        matcher=matcher,
        command=command,
        release=release,
        progress=progress,
    )


def _survey(
    source: "Source",
    *,
    matcher: "Known",
    command: str | None,
    release: str | None,
    progress: "Progress | None" = None,
) -> "Diagnosis":
    from app.diagnosis.large import Surveyor  # noqa: PLC0415  # most logs are small and plain

    matcher = searched(matcher)
    found = Surveyor(matcher, progress).run(source)
    return _answer(found, matcher=matcher, command=command, release=release)


def _answer(
    found: "Survey", *, matcher: "Known", command: str | None, release: str | None
) -> "Diagnosis":
    from app.diagnosis.answer import of_lines  # noqa: PLC0415  # the search of a large log begins without it

    return of_lines(
        found.lines,
        matcher=opened(matcher),
        command=command,
        release=release,
        total=found.total,
        more=found.more,
    )


def _some(stream: BinaryIO, size: int) -> bytes:
    """Read as much as there is, up to a size."""
    parts = []
    while size > 0:
        part = stream.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
