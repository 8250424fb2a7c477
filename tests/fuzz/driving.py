"""What every fuzzer here does: make inputs of others, try them for some seconds, keep what failed.

Coverage-guided where atheris is installed (`pip install -e ".[soak]"`), else by mutating the seeds
at random.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PATIENCE: Final = 10
"""Seconds an input may take."""
_MEMORY: Final = 1_500
"""Megabytes the process may hold, instrumentation included."""

One = Callable[[bytes], None]
"""Reads one input; raises where a promise is broken."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What inputs are made of."""

    name: str
    """Begins the file of an input that failed."""
    seeds: Sequence[bytes]
    pieces: Sequence[bytes]
    """What is telling in such an input, put in here and there."""
    longest: int
    kept: int = 0
    """First bytes that stay what they are."""

    def mutated(self, rng: random.Random) -> bytes:
        """One input made of others: spliced, repeated, cut, reversed, with bytes changed."""
        data = bytearray(rng.choice(self.seeds))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(self.kept, len(data) + 1)
            end = min(len(data), at + rng.randrange(1, 200))
            kind = rng.randrange(6)
            if kind == 0:
                other = rng.choice(self.seeds)
                start = rng.randrange(self.kept, len(other) + 1)
                data[at:at] = other[start : start + rng.randrange(1, 800)]
            elif kind == 1:
                del data[at:end]
            elif kind == 2:
                data[at:at] = bytes(data[at:end]) * rng.randrange(1, 20)
            elif kind == 3:
                data[at:at] = rng.choice(self.pieces)
            elif kind == 4 and at < len(data):
                data[at] = rng.randrange(256)
            else:
                data[at:] = b"\n".join(bytes(data[at:]).split(b"\n")[::-1])
        return bytes(data[: self.longest])

    def keep(self, data: bytes) -> Path:
        """Write an input that failed; returns where."""
        with tempfile.NamedTemporaryFile(
            prefix=f"{self.name}-", suffix=".bin", delete=False
        ) as out:
            out.write(data)
        return Path(out.name)


def at_random(one: One, inputs: Inputs, seconds: float, seed: int = 0) -> int:
    """Fuzz without coverage; returns how many inputs were tried."""
    rng, tried = random.Random(seed), 0
    end = time.monotonic() + seconds
    slowest = (0.0, b"")
    while time.monotonic() < end:
        data = inputs.mutated(rng)
        started = time.process_time()
        try:
            one(data)
        except BaseException:
            sys.stderr.write(f"failed on {inputs.keep(data)} after {tried} inputs\n")
            raise
        slowest = max(slowest, (time.process_time() - started, data))
        if slowest[0] > PATIENCE:
            raise AssertionError(f"{slowest[0]:.1f} s for {inputs.keep(data)}")
        tried += 1
    sys.stderr.write(f"{tried} inputs, the slowest took {slowest[0] * 1e3:.0f} ms\n")
    return tried


def fuzz(target: Callable[[], One], inputs: Inputs, packages: Sequence[str]) -> None:
    """Fuzz for as many seconds as the command line says, a minute by default.

    Args:
        target: makes the function that reads an input; what it imports is instrumented.
        inputs: what they are made of.
        packages: whose code is instrumented.
    """
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    try:
        import atheris  # noqa: PLC0415  # it may not be installed
    except ImportError:
        at_random(target(), inputs, seconds)
        return
    with atheris.instrument_imports(include=list(packages)):
        one = target()
        one(inputs.seeds[0])  # what is imported late is imported now, and costs no input its time
    with tempfile.TemporaryDirectory() as folder:
        for n, data in enumerate(inputs.seeds):
            (Path(folder) / f"{n:03}").write_bytes(data)
        options = (
            f"-max_total_time={seconds}",
            f"-max_len={inputs.longest}",
            f"-timeout={PATIENCE}",
            f"-rss_limit_mb={_MEMORY}",
            f"-artifact_prefix={tempfile.gettempdir()}/{inputs.name}-",
            "-verbosity=1",
            "-print_final_stats=1",
        )
        atheris.Setup([sys.argv[0], folder, *options], one)
        atheris.Fuzz()
