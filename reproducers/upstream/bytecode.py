"""Compiled modules of a wheel, found by the content of their source.

The store is only read here: engine code runs in this process, and a process that ran engine code
must not be able to leave compiled code behind for the next one. What was not found is told to
`on_miss`, so that somebody who executes nothing can compile it. A name in the store is the hash of
the source text, so copies of a wheel share it and a changed file never meets stale code.
"""

import hashlib
import importlib.util
import marshal
import sys
import types
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

TAG = f"{sys.implementation.cache_tag}-{importlib.util.MAGIC_NUMBER.hex()}"
"""Which Python a store is for; part of its path."""


def store_name(source: bytes) -> str:
    """Where the compiled form of a source text lies within a store."""
    digest = hashlib.blake2b(source, digest_size=20).hexdigest()
    return f"{TAG}/{digest[:2]}/{digest[2:]}"


def compile_source(source: bytes, path: str) -> bytes:
    """Compile without executing.

    Raises:
        SyntaxError: the source is not for this Python.
        ValueError: the source holds null bytes.
    """
    return marshal.dumps(compile(source, path, "exec", dont_inherit=True))


def read_compiled(store: Path | None, source: bytes, path: str) -> types.CodeType | None:
    """The compiled module from the store, with `path` as its file, or None."""
    if store is None:
        return None
    try:
        code = marshal.loads((store / store_name(source)).read_bytes())  # noqa: S302  # written by us alone
    except (OSError, EOFError, ValueError, TypeError):
        return None
    return _renamed(code, path) if isinstance(code, types.CodeType) else None


def _renamed(code: types.CodeType, path: str) -> types.CodeType:
    """The same code with another file name, nested functions included."""
    if code.co_filename == path:
        return code
    constants = tuple(
        _renamed(c, path) if isinstance(c, types.CodeType) else c for c in code.co_consts
    )
    return code.replace(co_filename=path, co_consts=constants)


class StoredLoader(SourceFileLoader):
    """Loads a module of the wheel, compiled beforehand if the store has it."""

    store: Path | None = None
    on_miss: Callable[[str], None] | None = None

    def get_code(self, fullname: str) -> types.CodeType:
        """The module's code, from the store or compiled here and now."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        code = read_compiled(self.store, source, path)
        if code is None:
            code = self.source_to_code(source, path)
            if self.on_miss is not None:
                self.on_miss(path)
        return code

    def set_data(self, path: str, data: Any, **_kwargs: Any) -> None:
        """Nothing is ever written from a process that runs engine code."""
