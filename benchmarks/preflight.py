"""A launch line through a release's checks, cold and warm, side by side with a bare `import torch`.

    python benchmarks/preflight.py [--rounds 5] [--release 0.5.23] [--cold-rounds 3]

Cold is a whole process from the command line: the wall, torch, the release's own modules, the
check, and for a refused line the other releases for as long as they are asked by default. Warm is
what the site does for each line: the line is read, checked in a fork of a loaded release, and its
findings are joined with the catalog; a refused line is corrected, which takes further checks. The
peer is a process that imports torch and nothing else, in turns with both on the same machine.
"""

import argparse
import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

from app.services.preflight import Question, check
from app.services.preflight_warm import WarmPool
from app.settings import load_settings

_START: Final = "python -m sglang.launch_server --model-path"
LINES: Final = {
    "passes": f"{_START} Qwen/Qwen3-8B --tp 2",
    "refused by the parser": f"{_START} Qwen/Qwen3-8B --reasoning_parser qwen3",
    "refused by a check": (
        f"{_START} Qwen/Qwen3-32B --tp 2 --enable-hierarchical-cache --disable-radix-cache"
    ),
    "three problems": (
        f"{_START} Qwen/Qwen3-8B --reasoning_parser qwen3 --enable-hierarchical-cache "
        "--disable-radix-cache --tp eight"
    ),
    "flags of vLLM": f"{_START} Qwen/Qwen3-8B --max-model-len 8192 --gpu-memory-utilization 0.8",
    "a model nobody knows": f"{_START} somebody/unheard-of --tp 8",
}
COLD: Final = ("passes", "refused by a check")
COLD_SECONDS: Final = 6.0
WARM_SECONDS: Final = 0.3


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _process(*command: str) -> None:
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")


def _torch() -> None:
    _process(sys.executable, "-c", "import torch")


def _told(name: str, times: list[float], torch: float, target: float) -> None:
    median = statistics.median(times)
    verdict = "within" if median <= target else "OVER"
    print(
        f"{name}: {median:.3f} s (least {min(times):.3f}, most {max(times):.3f}), {verdict} "
        f"{target:g} s; import torch {torch:.2f} s, ratio {median / torch:.3f}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cold-rounds", type=int, default=3)
    parser.add_argument("--release", default="0.5.23")
    args = parser.parse_args()
    release = f"sglang=={args.release}"
    for name in COLD:
        command = [sys.executable, "-m", "app.cli", "preflight", "--release", release]
        command += ["--gpu", "h200", "--", LINES[name]]
        _process(*command)  # unpacks and compiles, once
        torch, cold = [], []
        for _ in range(args.cold_rounds):
            torch.append(_timed(_torch))
            cold.append(_timed(functools.partial(_process, *command)))
        _told(f"cold, {name}", cold, statistics.median(torch), COLD_SECONDS)
    pool = WarmPool()
    settings = load_settings()
    try:
        for name, line in LINES.items():
            question = Question(line=line, release=release, gpu="h200")
            check(question, settings, pool=pool)  # loads the release, once
            torch = [_timed(_torch)]
            ask = functools.partial(check, question, settings, pool=pool)
            warm = [_timed(ask) for _ in range(args.rounds)]
            _told(f"warm, {name}", warm, torch[0], WARM_SECONDS)
    finally:
        pool.close()


if __name__ == "__main__":
    main()
