"""Fuzzes the reading of logs: whatever comes, an answer that shows only what the log shows.

    python tests/fuzz/log_reader.py [SECONDS]

Coverage-guided where atheris is installed (`pip install -e ".[soak]"`), else by mutating the sample
logs at random. A failure prints the input's file; every input that failed once belongs into
`tests/diagnosis/test_fuzz.py`. No input may take more than ten seconds, however it is made.
"""

import contextlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
_LONGEST: Final = 6_000
_PATIENCE: Final = 10
"""Seconds an input may take."""
_MEMORY: Final = 1_500
"""Megabytes the process may hold, instrumentation included."""


def target() -> Callable[[bytes], None]:
    """The function that is fuzzed; it raises AssertionError where a promise is broken."""
    from app.diagnosis.diagnose import diagnose  # noqa: PLC0415  # after the instrumentation
    from app.diagnosis.index import Index  # noqa: PLC0415  # as above
    from app.diagnosis.matcher import Matcher  # noqa: PLC0415  # as above
    from app.exceptions import BadInputError  # noqa: PLC0415  # as above
    from app.knowledge.entry_file import read_entry_files  # noqa: PLC0415  # as above
    from app.loading.curated import ERRORS_DIR  # noqa: PLC0415  # as above
    from app.loading.index import build  # noqa: PLC0415  # as above
    from tests.diagnosis.engines import ENGINE  # noqa: PLC0415  # as above

    matcher = Matcher(Index(build(ENGINE, read_entry_files(ERRORS_DIR))))

    def one(data: bytes) -> None:
        with contextlib.suppress(BadInputError):
            answer = diagnose(data, matcher=matcher)
            dense = "".join(data.decode("utf-8", "replace").split())
            assert (answer.verdict in ("known", "unknown")) == (answer.root_cause is not None)
            for finding in answer.findings:
                assert finding.first_line <= finding.last_line
                for said in finding.evidence:
                    assert said.start is None or 0 <= said.start <= said.end
                if finding.frame and "\\" not in dense and "&" not in dense:
                    # an escape sequence or a line break may stand in the middle of a name
                    shown = iter(dense)
                    assert all(c in shown for c in finding.frame.function.split()[0])
            json.dumps(answer.to_json())

    return one


def seeds() -> list[bytes]:
    """The sample logs, cut to a size that is quickly read."""
    return [p.read_bytes()[:_LONGEST] for p in sorted((ROOT / "tests/corpus").glob("*.log"))]


def mutate(rng: random.Random, pool: list[bytes]) -> bytes:
    """One log made of others: spliced, repeated, cut, with bytes changed."""
    data = bytearray(rng.choice(pool))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.randrange(1, 200))
        kind = rng.randrange(6)
        if kind == 0:
            other = rng.choice(pool)
            start = rng.randrange(len(other) + 1)
            data[at:at] = other[start : start + rng.randrange(1, 800)]
        elif kind == 1:
            del data[at:end]
        elif kind == 2:
            data[at:at] = bytes(data[at:end]) * rng.randrange(1, 20)
        elif kind == 3:
            data[at:at] = rng.choice(
                (b"\n", b"\r", b"\x1b[", b'"', b"\\n", b"{", b'  File "', b": ")
            )
        elif kind == 4 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        else:
            data[at:] = b"\n".join(bytes(data[at:]).split(b"\n")[::-1])
    return bytes(data[:_LONGEST])


def at_random(one: Callable[[bytes], None], seconds: float) -> int:
    """Fuzz without coverage; returns how many inputs were tried."""
    rng, pool, tried = random.Random(seconds), seeds(), 0
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
    with tempfile.NamedTemporaryFile(prefix="log-", suffix=".bin", delete=False) as out:
        out.write(data)
    return Path(out.name)


def main() -> None:
    """Fuzz for so many seconds."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    try:
        import atheris  # noqa: PLC0415  # it may not be installed
    except ImportError:
        at_random(target(), seconds)
        return
    with atheris.instrument_imports(include=["app.diagnosis"]):
        one = target()
    with tempfile.TemporaryDirectory() as folder:
        for n, data in enumerate(seeds()):
            (Path(folder) / f"{n:03}").write_bytes(data)
        options = (f"-max_total_time={seconds}", f"-max_len={_LONGEST}", f"-timeout={_PATIENCE}",
                   f"-rss_limit_mb={_MEMORY}", f"-artifact_prefix={tempfile.gettempdir()}/log-",
                   "-verbosity=1", "-print_final_stats=1")  # fmt: skip
        atheris.Setup([sys.argv[0], folder, *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
