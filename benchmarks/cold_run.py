"""One step of a reproducer from a cold start, side by side with a bare `import torch`.

    python benchmarks/cold_run.py [--rounds 5] [--release sglang==0.5.23] [SLUG ...]

Both are whole processes, started in turns on one machine; the ratio is what to look at. The run
is everything that a user waits for: the command line, the place of the error in the wheel, the
wall, torch, the release's own modules, and the answer. Its first run in a fresh cache, which also
unpacks the wheel and compiles modules, is told apart.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.services.reproducers import FOLDER
from app.settings import load_settings

TARGET = 3.0
"""A run of one step is to take at most this many times a bare import of torch."""


def timed(command: Sequence[str], environment: dict[str, str]) -> float:
    """Seconds of wall clock that a command takes."""
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("slugs", nargs="*", metavar="SLUG")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--release", default="sglang==0.5.23")
    args = parser.parse_args()
    slugs = args.slugs or ["unknown-speculative-phase", "kda-verify-exceeds-scratch-steps"]
    bare = [sys.executable, "-c", "import torch"]
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir()
        (cache / "wheels").symlink_to(load_settings().wheels_dir)
        environment = dict(os.environ) | {
            "REPROBASE_CACHE_DIR": str(cache),
            "REPROBASE_DATABASE_URL": f"sqlite:///{folder}/bench.db",
        }
        print(f"{args.release}, {args.rounds} rounds in turns, median seconds (least)")
        for slug in slugs:
            assert (FOLDER / f"{slug.replace('-', '_')}.py").exists(), slug
            command = [sys.executable, "-m", "app.cli", "run", slug, "--step", "trigger"]
            command += ["--on", args.release]
            first = timed(command, environment)
            runs, imports = [], []
            for _ in range(args.rounds):
                imports.append(timed(bare, environment))
                runs.append(timed(command, environment))
            run, torch = statistics.median(runs), statistics.median(imports)
            verdict = "within" if run <= TARGET * torch else "OVER"
            print(
                f"{slug}: run {run:.2f} ({min(runs):.2f}), import torch {torch:.2f} "
                f"({min(imports):.2f}), ratio {run / torch:.2f}, {verdict} the target of "
                f"{TARGET:g}; first run of this cache {first:.2f}"
            )


if __name__ == "__main__":
    main()
