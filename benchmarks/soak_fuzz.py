"""Fuzzing for long: odd wheels, odd logs, odd requests, each for as long as is said.

    python benchmarks/soak_fuzz.py [--seconds 3600]

Each part ends with a line of figures (`soak_figures`): how many inputs, how long the slowest took,
whether anything was found. A finding ends the whole with exit code 1; its input is kept, and its
place is named by the part itself. `make test` tries the same readers and routes for a minute.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from soak_figures import keep

ROOT = Path(__file__).resolve().parent.parent
READERS = ("wheel_reader", "log_reader")
REQUESTS_A_SECOND = 2
"""Of each operation, roughly: how many examples fill the time."""
_EXECUTED = re.compile(
    r"stat::number_of_executed_units:\s*(\d+)|^(\d+) inputs, the slowest", re.MULTILINE
)
_SLOWEST = re.compile(r"stat::slowest_unit_time_sec:\s*(\d+)|the slowest took (\d+) ms")
_PASSED = re.compile(r"(\d+) passed")


def reader(name: str, seconds: int) -> bool:
    """Fuzz one reader; whether nothing was found."""
    command = [sys.executable, f"tests/fuzz/{name}.py", str(seconds)]
    began = time.monotonic()
    child = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(child.stderr[-2000:])
    count, slowest = _EXECUTED.search(child.stderr), _SLOWEST.search(child.stderr)
    guided = "stat::" in child.stderr
    keep(
        {
            "part": name,
            "seconds": round(time.monotonic() - began),
            "inputs": int(next(filter(None, count.groups()))) if count else None,
            "slowestMs": int(next(filter(None, slowest.groups()))) * (1000 if guided else 1)
            if slowest
            else None,
            "guided": guided,
            "found": child.returncode != 0,
        }
    )
    return child.returncode == 0


def requests(seconds: int) -> bool:
    """Send odd requests to every operation of the OpenAPI document; whether all was well."""
    examples = max(20, seconds * REQUESTS_A_SECOND // 14)
    command = [sys.executable, "-m", "pytest", "-q", "tests/fuzz/test_openapi.py"]
    environment = os.environ | {"REPROBASE_FUZZ_EXAMPLES": str(examples)}
    began = time.monotonic()
    child = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    print(child.stdout[-4000:], file=sys.stderr)
    passed = _PASSED.search(child.stdout)
    keep(
        {
            "part": "openapi",
            "seconds": round(time.monotonic() - began),
            "examplesAnOperation": examples,
            "testsPassed": int(passed.group(1)) if passed else 0,
            "found": child.returncode != 0,
        }
    )
    return child.returncode == 0


def main() -> int:
    """Fuzz everything in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600)
    seconds = parser.parse_args().seconds
    well = all([*(reader(name, seconds) for name in READERS), requests(seconds)])
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
