"""A tiny engine with checks of every kind, for the tests of synthesis."""

CHECKS = """
import enum
import os
import subprocess
from typing import List, Literal, Optional

import torch


class Mode(enum.Enum):
    DECODE = 1
    EXTEND = 2


class Pool:
    def __init__(self, size: int, names: List[str], mode: Mode):
        self.size = size
        self.names = names
        self.mode = mode
        self.layout = "page_first"

    def take(self, n: int) -> int:
        if n > self.size:
            raise ValueError(f"asked for {n}, there are {self.size}")
        return self.size - n

    def named(self, name: str) -> str:
        assert name in ("a", "b"), f"no such name: {name}"
        return name

    def decode(self) -> None:
        if self.mode is not Mode.DECODE and len(self.names) == 3:
            raise RuntimeError("three names need decoding")


def shapes(q: torch.Tensor, out: Optional[torch.Tensor] = None) -> torch.Tensor:
    if q.dim() != 3:
        raise ValueError(f"q has {q.dim()} dimensions")
    if out is not None and out.dtype != torch.bfloat16:
        raise TypeError(f"out is {out.dtype}")
    return q


def chosen(backend: Literal["fast", "slow"], steps: int, ratio: float = 0.5) -> int:
    is_odd = backend == "fast" and steps % 2 == 1
    if not 0.0 < ratio < 1.0:
        raise ValueError(f"ratio {ratio} is outside")
    if is_odd and steps > 8:
        raise ValueError(f"fast takes no {steps} steps")
    return steps


def environment() -> str:
    if os.environ.get("TINY_MODE") == "strict":
        raise RuntimeError("TINY_MODE is strict")
    return "ok"


def always() -> None:
    raise NotImplementedError("not here")


def unreachable(n: int) -> None:
    if n > 3 and n < 2:
        raise ValueError("cannot be")


def spins(n: int) -> None:
    while True:
        n += 1
    raise ValueError("after the end")


def starts(n: int) -> None:
    subprocess.run(["true"])
    raise ValueError("after a process")


def caught(n: int) -> None:
    try:
        int("x" * n)
    except ValueError as e:
        raise RuntimeError("no number") from e


async def later(kind: str) -> None:
    if kind == "wrong":
        raise ValueError("a wrong kind")


def told(n: int, *, reason: Optional[str] = None) -> None:
    if reason is None:
        reason = f"no cores allowed for node {n}"
    if os.environ.get("TINY_STRICT") == "1":
        raise RuntimeError(reason)


class Copy:
    def __init__(self) -> None:
        self.error: Optional[BaseException] = None

    def wait(self) -> None:
        if self.error is not None:
            raise RuntimeError("the copy failed") from self.error


def equal(pool) -> None:
    if pool.rows != pool.lines:
        raise ValueError("rows and lines differ")


def needs_both(limit: Optional[int] = None, chunk: int = 8, strict: bool = False) -> None:
    if not strict:
        return
    if limit is None or limit <= 0 or chunk < 16:
        raise ValueError("a limit and a chunk of 16 are needed")


def spelled(name: str = "fast") -> None:
    if name == "quick":
        raise ValueError("quick is gone, use 'fast' or 'slow'")


def known(mode) -> None:
    if mode is not None:
        raise ValueError(f"mode {mode.value} is taken")


def outer(limit: int):
    def inner(n: int) -> int:
        if n > limit:
            raise ValueError(f"{n} is above {limit}")
        return n

    return inner


raise_at_import = True
if not raise_at_import:
    raise ImportError("not in a function")
"""

DIES = """
import ctypes
import os


def crashes(n: int) -> None:
    ctypes.string_at(0)
    raise ValueError("after a crash")


def allocates(n: int) -> None:
    held = bytearray(1 << 40)
    raise ValueError(f"after {len(held)} bytes")


def forks(n: int) -> None:
    if os.fork() == 0:
        os._exit(0)
    raise ValueError("after a fork")


def goes_on(n: int) -> None:
    if n == 41:
        raise ValueError("the file's next check")
"""

FILES = {"tiny/__init__.py": "", "tiny/checks.py": CHECKS, "tiny/dies.py": DIES}
