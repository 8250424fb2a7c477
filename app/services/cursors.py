"""Where a page of a list ended, as an opaque word that fits this list alone."""

import base64
import hashlib
import json
from collections.abc import Mapping

from app.exceptions import BadInputError

MOST = 1_000_000_000
"""No list is longer."""


def write_cursor(offset: int, filters: Mapping[str, str]) -> str:
    """The word for a place in the list that some filters make."""
    raw = f"1:{offset}:{_fingerprint(filters)}".encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def read_cursor(cursor: str, filters: Mapping[str, str]) -> int:
    """The place that a word stands for.

    Raises:
        BadInputError: it was not made for this list.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except ValueError:
        raw = ""
    offset = raw.removeprefix("1:").removesuffix(f":{_fingerprint(filters)}")
    if (
        raw != f"1:{offset}:{_fingerprint(filters)}"
        or not offset.isdecimal()
        or len(offset) > len(str(MOST))
        or cursor != write_cursor(int(offset), filters)  # base64 is read past what is none
    ):
        raise BadInputError(
            "The cursor does not belong to this list: take `next` of the page before, "
            "with the same filters."
        )
    return int(offset)


def _fingerprint(filters: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(dict(filters), sort_keys=True).encode()).hexdigest()[:8]
