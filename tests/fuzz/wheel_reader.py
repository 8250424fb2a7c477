"""Fuzzes the reading of wheels: whatever the file, sites or a sentence of our own, and no harm.

    python tests/fuzz/wheel_reader.py [SECONDS]

An input is either a wheel's bytes as they are, or the source that a well-formed wheel holds.
Coverage-guided where atheris is installed (`pip install -e ".[soak]"`), else by mutating the seeds
at random. A failure prints the input's file; every input that failed once belongs into
`tests/fuzz/test_wheel_reader.py`. No input may take more than ten seconds.
"""

import contextlib
import random
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
_LONGEST: Final = 8_000
_PATIENCE: Final = 10
"""Seconds an input may take."""
_MEMORY: Final = 1_500
"""Megabytes the process may hold, instrumentation included."""
_NAME: Final = "sglang-1.0-py3-none-any.whl"
AS_IT_IS, SOURCE, NATIVE = b"\0", b"\1", b"\2"
"""First byte of an input: what the rest is."""


def target(folder: Path) -> Callable[[bytes], None]:
    """The function that is fuzzed; it raises where a promise is broken.

    Args:
        folder: an empty one, for the file of each input.
    """
    from app.exceptions import ReprobaseError  # noqa: PLC0415  # after the instrumentation
    from app.scanner.release import scan_wheel  # noqa: PLC0415  # as above
    from app.settings import load_settings  # noqa: PLC0415  # as above
    from app.wheels.archive import open_wheel  # noqa: PLC0415  # as above
    from app.wheels.unpack import unpacked  # noqa: PLC0415  # as above

    path = folder / "in" / _NAME
    path.parent.mkdir()
    settings = load_settings({"HOME": str(folder), "REPROBASE_CACHE_DIR": str(folder / "cache")})

    def one(data: bytes) -> None:
        path.write_bytes(wheel_of(data))
        with contextlib.suppress(ReprobaseError):
            wheel = open_wheel(path)
            scanned = scan_wheel(wheel, processes=0)
            lengths = {site.file: site.end_line for site in scanned.sites}
            assert set(lengths) <= set(wheel.names())
            assert all(0 < s.line <= s.end_line for s in scanned.sites), scanned.sites
            root = unpacked(wheel, settings)
            held = {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}
            assert held == set(wheel.names())
        there = {p.name for p in folder.iterdir()}
        assert there <= {"in", "cache"}, f"written outside: {there}"
        shutil.rmtree(folder / "cache", ignore_errors=True)

    return one


def wheel_of(data: bytes) -> bytes:
    """The bytes of the wheel that an input stands for."""
    kind, rest = data[:1], data[1:]
    if kind not in (SOURCE, NATIVE):
        return rest
    with tempfile.SpooledTemporaryFile(1 << 20) as out:
        with zipfile.ZipFile(out, "w") as archive:
            name = "sglang/srt/a.py" if kind == SOURCE else "sglang/srt/a.cu"
            archive.writestr(name, rest)
            archive.writestr("sglang-1.0.dist-info/METADATA", "Name: sglang\nVersion: 1.0\n")
        out.seek(0)
        return out.read()


def seeds() -> list[bytes]:
    """Samples of source, of native code, and small whole wheels."""
    samples = ROOT / "tests/scanner/samples"
    sources = [SOURCE + p.read_bytes()[:_LONGEST] for p in sorted(samples.glob("*.sample"))]
    native = [NATIVE + p.read_bytes()[:_LONGEST] for p in sorted(samples.glob("*.cuh_sample"))]
    wheels = [AS_IT_IS + wheel_of(SOURCE + b"raise ValueError('no %d rows' % 3)\n")]
    return [*sources, *native, *wheels]


def mutate(rng: random.Random, pool: list[bytes]) -> bytes:
    """One input made of others: spliced, repeated, cut, with bytes changed."""
    data = bytearray(rng.choice(pool))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(1, len(data) + 1)
        end = min(len(data), at + rng.randrange(1, 200))
        kind = rng.randrange(5)
        if kind == 0:
            other = rng.choice(pool)
            start = rng.randrange(1, len(other) + 1)
            data[at:at] = other[start : start + rng.randrange(1, 400)]
        elif kind == 1:
            del data[at:end]
        elif kind == 2:
            data[at:at] = bytes(data[at:end]) * rng.randrange(1, 20)
        elif kind == 3:
            data[at:at] = rng.choice((b"\n", b"(", b"{", b"f'", b'"""', b"\\", b"raise ", b"\0"))
        elif at < len(data):
            data[at] = rng.randrange(256)
    return bytes(data[:_LONGEST])


def at_random(one: Callable[[bytes], None], seconds: float, seed: int = 0) -> int:
    """Fuzz without coverage; returns how many inputs were tried."""
    rng, pool, tried = random.Random(seed), seeds(), 0
    end = time.monotonic() + seconds
    slowest = (0.0, b"")
    while time.monotonic() < end:
        data = mutate(rng, pool)
        started = time.process_time()
        try:
            one(data)
        except BaseException:
            sys.stderr.write(f"failed on {kept(data)} after {tried} inputs\n")
            raise
        slowest = max(slowest, (time.process_time() - started, data))
        if slowest[0] > _PATIENCE:
            raise AssertionError(f"{slowest[0]:.1f} s for {kept(data)}")
        tried += 1
    sys.stderr.write(f"{tried} inputs, the slowest took {slowest[0] * 1e3:.0f} ms\n")
    return tried


def kept(data: bytes) -> Path:
    """Where an input was written to."""
    with tempfile.NamedTemporaryFile(prefix="wheel-", suffix=".bin", delete=False) as out:
        out.write(data)
    return Path(out.name)


def main() -> None:
    """Fuzz for so many seconds."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as world, tempfile.TemporaryDirectory() as corpus:
        try:
            import atheris  # noqa: PLC0415  # it may not be installed
        except ImportError:
            at_random(target(Path(world)), seconds)
            return
        with atheris.instrument_imports(include=["app.wheels", "app.scanner"]):
            one = target(Path(world))
            one(seeds()[0])  # what is imported late is imported now, and costs no input its time
        for n, data in enumerate(seeds()):
            (Path(corpus) / f"{n:03}").write_bytes(data)
        options = (f"-max_total_time={seconds}", f"-max_len={_LONGEST}", f"-timeout={_PATIENCE}",
                   f"-rss_limit_mb={_MEMORY}", f"-artifact_prefix={tempfile.gettempdir()}/wheel-",
                   "-verbosity=1", "-print_final_stats=1")  # fmt: skip
        atheris.Setup([sys.argv[0], corpus, *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
