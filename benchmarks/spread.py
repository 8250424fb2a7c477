"""A scan over a real Ray cluster of two nodes, beside the same scan over one of them.

    python benchmarks/spread.py [--release sglang==0.5.23] [--rounds 3]

Both nodes have one processor of this machine. The wheel's bytes travel through the cluster's store
in both cases, so what differs is the second node alone. Printed are the medians and their ratio,
and the same for pieces that only wait, which shows what the scheduling itself costs.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.loading.spread_reading import SpreadReading  # noqa: E402  # the path comes first
from app.scanner.release import Scan  # noqa: E402  # as above
from app.settings import load_settings  # noqa: E402  # as above
from app.spread import RaySpread  # noqa: E402  # as above
from app.wheels import cached_wheel, parse_release  # noqa: E402  # as above


def wait_a_little(_item: int, _shared: None) -> None:
    """A piece that needs no processor."""
    time.sleep(0.25)


def timed(work: Callable[[], Any], rounds: int) -> float:
    """Median seconds of some work."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def measured(address: str, wheel: Any, rounds: int) -> dict[str, float]:
    """Seconds of a scan and of sixteen pieces that wait, on the nodes that there are."""
    spread = RaySpread(address)

    def scan() -> None:
        found = Scan(wheel, reader=lambda w, part: SpreadReading(w, part, spread)).finish()
        assert found.sites

    try:
        scan()  # workers start and import once
        return {
            "nodes": spread.slots,
            "scan": round(timed(scan, rounds), 2),
            "waiting": round(timed(lambda: list(spread.each(wait_a_little, range(16))), rounds), 2),
        }
    finally:
        spread.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=load_settings().default_release)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    try:
        from ray.cluster_utils import Cluster  # noqa: PLC0415  # an extra
    except ImportError:
        print("Ray is not installed: `pip install -e '.[ray]'`")
        return
    wheel = cached_wheel(*parse_release(args.release), load_settings())
    if wheel is None:
        raise SystemExit(f"{args.release} is not in the cache: `reprobase scan {args.release}`.")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        one = measured(cluster.address, wheel, args.rounds)
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        two = measured(cluster.address, wheel, args.rounds)
    finally:
        cluster.shutdown()
    ratios = {name: round(one[name] / two[name], 2) for name in ("scan", "waiting")}
    print(json.dumps({"one": one, "two": two, "timesFaster": ratios}))


if __name__ == "__main__":
    main()
