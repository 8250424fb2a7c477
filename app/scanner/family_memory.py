"""Families that were worked out before, so that the next release only asks for what is new.

Most of what a release says it has said before, and the family depends on nothing else. The memory
is a file beside the wheels, of one state of the rules and weights; another state begins anew, and a
damaged file counts as none.
"""

import contextlib
import os
from hashlib import blake2b
from pathlib import Path
from typing import Final

from app.scanner.families import TAGS

_KEY: Final = 8
_NONE: Final = 255


class FamilyMemory:
    """Families by what was asked; kept in a file if there is one."""

    def __init__(self, path: Path | None = None, state: str = "") -> None:
        """Read what is there.

        Args:
            path: the file; without it nothing is kept.
            state: of the rules and weights, 16 characters.
        """
        self._path = path
        self._state = state.encode()
        self._known: dict[bytes, int] = {}
        self._kept = 0
        with contextlib.suppress(OSError):
            data = path.read_bytes() if path is not None else b""
            body = data[len(self._state) :]
            if data.startswith(self._state) and len(body) % (_KEY + 1) == 0:
                self._known = {
                    body[i : i + _KEY]: body[i + _KEY] for i in range(0, len(body), _KEY + 1)
                }
                self._kept = len(self._known)

    @staticmethod
    def key(*asked: str) -> bytes:
        """The key of a question."""
        text = "\0".join(asked).encode("utf-8", "replace")
        return blake2b(text, digest_size=_KEY).digest()

    def __contains__(self, key: bytes) -> bool:
        return self._known.get(key, _NONE) < len(TAGS) or self._known.get(key) == _NONE

    def __getitem__(self, key: bytes) -> str | None:
        number = self._known[key]
        return None if number == _NONE else TAGS[number]

    def __setitem__(self, key: bytes, family: str | None) -> None:
        self._known[key] = _NONE if family is None else TAGS.index(family)

    def keep(self) -> None:
        """Write the file, whole or not at all; a full disk costs only the memory."""
        if self._path is None or len(self._known) == self._kept:
            return
        parts = [self._state, *(k + bytes([n]) for k, n in self._known.items())]
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                new.write_bytes(b"".join(parts))
                new.replace(self._path)
                self._kept = len(self._known)
            finally:
                new.unlink(missing_ok=True)
