"""Compiles modules of the wheel beside a run, so that the next one finds them compiled.

The run only *names* files; a process of its own, behind a wall of its own, compiles them and
executes nothing; the keeper, who runs as the user, puts what it hands over into the store. So a
process that ran engine code never writes what a later one executes.
"""

import contextlib
import os
import re
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from reproducers.protocol import Limits, Request
from reproducers.upstream import bytecode
from reproducers.wall import privileges
from reproducers.wall.enter import enter

_NAME: Final = re.compile(rf"{re.escape(bytecode.TAG)}/[0-9a-f]{{2}}/[0-9a-f]{{38}}")
_LIMITS: Final = Limits(seconds=120, memory_bytes=2 << 30, file_bytes=1 << 20, processes=4)
_MAX_COMPILED: Final = 64 << 20
_MAX_PATH: Final = 4096


class Compiler:
    """A started compiler.

    Args:
        request: the run's request; its wheel is what may be read.
    """

    def __init__(self, request: Request) -> None:
        names_out, self.names = os.pipe()
        self._compiled, compiled_in = os.pipe()
        self._store = Path(str(request.bytecode))
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.names)
            os.close(self._compiled)
            _be_compiler(request, names_out, compiled_in)
        os.close(names_out)
        os.close(compiled_in)
        os.set_blocking(self.names, False)

    def finish(self, seconds: float) -> int:
        """Take over what was compiled, for at most that long; returns the number of modules."""
        os.close(self.names)
        deadline = time.monotonic() + seconds
        stored = 0
        with os.fdopen(self._compiled, "rb") as compiled:
            for header in iter(compiled.readline, b""):
                name, _, size = header.decode("ascii", "replace").strip().partition(" ")
                if not _NAME.fullmatch(name) or not size.isdigit() or int(size) > _MAX_COMPILED:
                    break
                data = compiled.read(int(size))
                if len(data) == int(size):
                    stored += _store(self._store / name, data)
                if time.monotonic() > deadline:
                    break
        self.stop()
        return stored

    def stop(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _store(path: Path, data: bytes) -> bool:
    """Put a compiled module into the store, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
            part.write(data)
        Path(part.name).chmod(0o644)
        Path(part.name).replace(path)
    except OSError:
        return False  # a store that cannot be written only costs time
    return True


def _be_compiler(request: Request, names: int, compiled: int) -> NoReturn:
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for fd in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        os.closerange(3, min(names, compiled))
        os.closerange(max(names, compiled) + 1, 1 << 20)
        sys.setrecursionlimit(4000)
        if os.geteuid() != 0:
            with contextlib.suppress(OSError):
                privileges.own_user_namespace()
        enter(replace(request, device="cpu", readable=(), limits=_LIMITS))
        root = Path(str(request.subject.root))
        with os.fdopen(names, "rb") as lines, os.fdopen(compiled, "wb") as out:
            for line in lines:
                _compile_one(root, line.decode("utf-8", "replace").strip(), out)
    finally:
        os._exit(0)


def _compile_one(root: Path, name: str, out: BinaryIO) -> None:
    path = (root / name).resolve()
    if len(name) > _MAX_PATH or not path.is_relative_to(root.resolve()) or path.suffix != ".py":
        return
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        source = path.read_bytes()
        data = bytecode.compile_source(source, str(path))
        out.write(f"{bytecode.store_name(source)} {len(data)}\n".encode() + data)
