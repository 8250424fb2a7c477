"""Fuzzes the reading of wheels: whatever the file, sites or a sentence of our own, and no harm.

    python tests/fuzz/wheel_reader.py [SECONDS]

An input is either a wheel's bytes as they are, or the source that a well-formed wheel holds.
A failure prints the input's file; every input that failed once belongs into
`tests/fuzz/test_wheel_reader.py`. No input may take more than ten seconds.
"""

import contextlib
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
from tests.fuzz.driving import Inputs, fuzz  # noqa: E402  # found by the path above

_LONGEST: Final = 8_000
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


def inputs() -> Inputs:
    """Wheels and sources made of the samples."""
    pieces = (b"\n", b"(", b"{", b"f'", b'"""', b"\\", b"raise ", b"\0")
    return Inputs("wheel", seeds(), pieces, _LONGEST, kept=1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as world:
        fuzz(partial(target, Path(world)), inputs(), ["app.wheels", "app.scanner"])
