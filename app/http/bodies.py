"""Request bodies of any size up to a limit, packed or plain, without a bomb going off."""

import io
import zlib
from collections.abc import Iterator

import zstandard
from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request

from app.exceptions import BadInputError, TooLargeError

MOST_RAW = 128 << 20
MOST_UNPACKED = 256 << 20
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_STEP = 1 << 20
DIGITS = 18
"""More make no size of anything."""
ADVICE = (
    "`reprobase diagnose FILE` reads logs of any size; or send only the part from the start of "
    "the server to its end."
)
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_LOOKED_AT = 1 << 16
_MOST_ODD = 0.1
"""Share of characters that no text has, above which it is none."""


async def read_body(
    request: Request,
    *,
    most_raw: int = MOST_RAW,
    most_unpacked: int = MOST_UNPACKED,
    advice: str = ADVICE,
) -> bytes:
    """The whole body, unpacked as its Content-Encoding says (gzip, deflate, zstd).

    Args:
        request: whose body.
        most_raw: bytes on the wire.
        most_unpacked: bytes after unpacking.
        advice: what to do with a body that is larger.

    Raises:
        TooLargeError: one of the limits is passed; nothing beyond it is kept in memory.
        BadInputError: an encoding that is not offered, or bytes that are none of it.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate", "zstd"}:
        raise BadInputError(f"Content-Encoding {encoding!r} is not offered; gzip and zstd are.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > DIGITS or int(declared) > most_raw):
        raise too_large(most_raw, advice)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most_raw:
            raise too_large(most_raw, advice)
    if encoding in {"", "identity"}:
        return bytes(raw)
    return await run_in_threadpool(unpack, bytes(raw), encoding, most_unpacked, advice=advice)


def text_of(raw: bytes) -> str:
    """A log as text: unpacked if its first bytes say that it is packed, decoded by its mark.

    Raises:
        BadInputError: it is no text, or a packed file that is damaged.
        TooLargeError: it unpacks to more than the limit.
    """
    packing = next((name for magic, name in _MAGIC.items() if raw.startswith(magic)), None)
    if packing:
        raw = unpack(raw, packing)
    coding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "utf-8")
    text = raw.decode(coding, "replace")
    start = text[:_LOOKED_AT]
    odd = sum(c == "\ufffd" or (c < " " and c not in "\t\n\r\f\b\x1b") for c in start)
    if odd > _MOST_ODD * len(start):
        raise BadInputError(
            "This is no text: most of it are bytes that no log has. Send the log as plain text, "
            "or packed with gzip or zstd."
        )
    return text


def unpack(raw: bytes, encoding: str, most: int = MOST_UNPACKED, *, advice: str = ADVICE) -> bytes:
    """Unpack bytes, a step at a time.

    Raises:
        TooLargeError: more than `most` bytes come out.
        BadInputError: the bytes are not of the encoding, or end in the middle.
    """
    out = bytearray()
    try:
        for piece in _zstd(raw) if encoding == "zstd" else _zlib(raw):
            out += piece
            if len(out) > most:
                raise too_large(most, advice)
    except (zlib.error, zstandard.ZstdError) as e:
        raise BadInputError(
            f"This is not {encoding}, or not all of it: it cannot be unpacked."
        ) from e
    return bytes(out)


def _zlib(raw: bytes) -> Iterator[bytes]:
    """All members of a gzip file, or one zlib stream."""
    rest = raw
    while rest:
        member = zlib.decompressobj(_GZIP_OR_ZLIB)
        while rest and not member.eof:
            yield member.decompress(rest, _STEP)
            rest = member.unconsumed_tail or member.unused_data
        if not member.eof:
            raise zlib.error("it ends in the middle")


def _zstd(raw: bytes) -> Iterator[bytes]:
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    with unpacker.stream_reader(io.BytesIO(raw), read_across_frames=True) as reader:
        while piece := reader.read(_STEP):
            yield piece


def too_large(limit: int, advice: str) -> TooLargeError:
    """The error for a body over a limit in bytes, with what to do about it."""
    size = f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit >> 10} KB"
    return TooLargeError(f"What was sent is larger than {size}. {advice}")
