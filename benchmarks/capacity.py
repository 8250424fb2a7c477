"""What one release and one question cost: the figures that docs/scale.md multiplies.

    python benchmarks/capacity.py [--releases sglang==0.5.22,sglang==0.5.23]

Scans cached releases into an empty SQLite database one after the other and tells seconds, sites,
and by how much the database grew; makes the index of the diagnosis; then diagnoses a traceback of
sixty lines and a log of a megabyte again and again in one thread. The peer of the same run is
`json.loads` of as many bytes, a machine-independent yardstick for work on text in Python.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.diagnosis.catalog import open_matcher  # noqa: E402  # the path comes first
from app.diagnosis.diagnose import diagnose  # noqa: E402  # as above
from app.loading.index import refresh  # noqa: E402  # as above
from app.loading.scanning import scan_into_catalog  # noqa: E402  # as above
from app.settings import load_settings  # noqa: E402  # as above
from app.wheels import cached_wheel, parse_release  # noqa: E402  # as above

SECONDS = 8.0
"""How long each question is asked."""


def per_second(work: Callable[[], object]) -> float:
    """How often some work can be done in a second, in one thread."""
    work()
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        work()
        done += 1
    return round(done / (time.perf_counter() - began), 1)


def logs() -> dict[str, str]:
    """A short log and a long one."""
    sample = (ROOT / "tests/corpus/kda-scratch-cri-two-ranks.log").read_text(encoding="utf-8")
    short = "\n".join((sample.splitlines() * 2)[:60])
    line = "[2026-11-30 10:00:00 TP0] Decode batch, #running-req: 12, #token: 4096, gen: 512.0\n"
    return {"traceback": short, "megabyte": line * ((1 << 20) // len(line)) + sample}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", default="sglang==0.5.22,sglang==0.5.23")
    args = parser.parse_args()
    cache = load_settings()
    with tempfile.TemporaryDirectory(prefix="reprobase-capacity-") as name:
        folder = Path(name)
        path = folder / "catalog.db"
        settings = load_settings(
            {
                **os.environ,
                "REPROBASE_DATABASE_URL": f"sqlite:///{path}",
                "REPROBASE_CACHE_DIR": str(folder / "cache"),
            }
        )
        before = 0
        for release in args.releases.split(","):
            wheel = cached_wheel(*parse_release(release), cache)
            if wheel is None:
                raise SystemExit(f"{release} is not in the cache: `reprobase scan {release}`.")
            began = time.perf_counter()
            found = scan_into_catalog(wheel, settings)
            took = time.perf_counter() - began
            size = sum(p.stat().st_size for p in folder.glob("catalog.db*"))
            print(
                json.dumps(
                    {
                        "release": release,
                        "seconds": round(took, 2),
                        "sites": found["sites"],
                        "wheelMB": round(wheel.path.stat().st_size / 1e6, 1),
                        "databaseMB": round((size - before) / 1e6, 1),
                    }
                )
            )
            before = size
        began = time.perf_counter()
        index = refresh(settings)
        print(
            json.dumps(
                {
                    "indexSeconds": round(time.perf_counter() - began, 2),
                    "indexMB": round(index.stat().st_size / 1e6, 1),
                }
            )
        )
        matcher = open_matcher(index)
        for kind, log in logs().items():
            document = json.dumps(log)
            ours = per_second(lambda log=log: diagnose(log, matcher=matcher))  # type: ignore[misc]  # bound now
            peer = per_second(lambda document=document: json.loads(document))  # type: ignore[misc]  # bound now
            print(json.dumps({"log": kind, "perSecond": ours, "jsonLoadsPerSecond": peer}))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"memoryMB": peak >> 10}))


if __name__ == "__main__":
    main()
