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


async def read_body(
    request: Request, *, most_raw: int = MOST_RAW, most_unpacked: int = MOST_UNPACKED
) -> bytes:
    """The whole body, unpacked as its Content-Encoding says (gzip, deflate, zstd).

    Args:
        request: whose body.
        most_raw: bytes on the wire.
        most_unpacked: bytes after unpacking.

    Raises:
        TooLargeError: one of the limits is passed; nothing beyond it is kept in memory.
        BadInputError: an encoding that is not offered, or bytes that are none of it.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate", "zstd"}:
        raise BadInputError(f"Content-Encoding {encoding!r} is not offered; gzip and zstd are.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most_raw:
        raise _too_large(most_raw)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most_raw:
            raise _too_large(most_raw)
    if encoding in {"", "identity"}:
        return bytes(raw)
    return await run_in_threadpool(unpack, bytes(raw), encoding, most_unpacked)


def unpack(raw: bytes, encoding: str, most: int = MOST_UNPACKED) -> bytes:
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
                raise _too_large(most)
    except (zlib.error, zstandard.ZstdError) as e:
        raise BadInputError(f"The body is not {encoding}, or not all of it: {e}.") from e
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


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(
        f"The text is larger than {limit >> 20} MB. `reprobase diagnose FILE` reads logs of any "
        "size; or send only the part from the start of the server to its end."
    )
