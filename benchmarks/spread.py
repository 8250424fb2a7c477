"""Work on a real Ray cluster of one and of two nodes, beside one and two processes of this machine.

    python benchmarks/spread.py scan|synthesis|logs|waiting [--release sglang==0.5.23] [--rounds 2]

Every node has one processor of this machine. `scan` reads a whole release; `synthesis` looks for
triggers and fixes of a few dozen of its sites, drawn with a seed; `logs` diagnoses a packed archive
of many logs with messages of the release planted in them; `waiting` is pieces that need no
processor, which shows what handing them over costs. Printed are the least seconds of the rounds and
the ratios, with the load of the machine when it began: on two processors, two nodes also share
them with the cluster's own processes and with the one that asks.
"""

import argparse
import io
import json
import os
import random
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from app.diagnosis.index import Index  # noqa: E402  # the path comes first
from app.loading.index import ReleaseSites, build  # noqa: E402  # as above
from app.loading.index_facts import facts_of  # noqa: E402  # as above
from app.loading.spread_reading import SpreadReading  # noqa: E402  # as above
from app.runs.synthesizing import site_payload, synthesize  # noqa: E402  # as above
from app.scanner.release import Scan, scan_wheel  # noqa: E402  # as above
from app.services.many_logs import answers_of  # noqa: E402  # as above
from app.services.synthesizing import Wish  # noqa: E402  # as above
from app.settings import load_settings  # noqa: E402  # as above
from app.spread import LocalSpread, ProcessSpread, RaySpread, Spread  # noqa: E402  # as above
from app.wheels import Wheel, cached_wheel, parse_release  # noqa: E402  # as above
from benchmarks.diagnose import message, ordinary, plantable  # noqa: E402  # as above

LOGS, LINES = 240, 600
"""Logs of the archive, and lines of each: about 16 MB."""
SITES = 72
PIECES = 16


class Work:
    """One kind of work, done by whoever is given."""

    def __init__(self, kind: str, wheel: Wheel, folder: Path) -> None:
        """Prepare it."""
        self.kind, self.wheel = kind, wheel
        self._settings = load_settings()
        if kind == "logs":
            self._index, self._archive = prepared(wheel, folder)
        if kind == "synthesis":
            wish = Wish(paths=("srt/",), sample=SITES, seed=11)
            self._sites = [site_payload(s) for s in wish.chosen(scan_wheel(wheel).sites)]

    def here(self, processes: int) -> Spread:
        """The pool of this machine that this kind is done by."""
        return ProcessSpread(processes) if self.kind == "logs" else LocalSpread(processes)

    def do(self, spread: Spread) -> None:
        """Do it once.

        Raises:
            SystemExit: it was not done whole.
        """
        getattr(self, f"_{self.kind}")(spread)

    def _scan(self, spread: Spread) -> None:
        if spread.here:
            found = scan_wheel(self.wheel, processes=spread.slots)
        else:
            found = Scan(self.wheel, reader=lambda w, p: SpreadReading(w, p, spread)).finish()
        whole(len(found.sites) > 1000, "a scan found next to nothing")

    def _synthesis(self, spread: Spread) -> None:
        told: list[str] = []

        def take(site: dict[str, Any], _found: dict[str, Any]) -> None:
            told.append(site["siteId"])

        synthesize(self.wheel, self._sites, self._settings, take, spread=spread)
        whole(
            sorted(told) == sorted(s["siteId"] for s in self._sites), "a site was left or doubled"
        )

    def _logs(self, spread: Spread) -> None:
        found = answers_of([self._archive], self._index, spread)
        whole(len(found.answers) == LOGS and bool(found.causes), "a log was left")

    def _waiting(self, spread: Spread) -> None:
        whole(len(list(spread.each(wait_a_little, range(PIECES)))) == PIECES, "a piece was left")


def whole(done: bool, otherwise: str) -> None:  # noqa: FBT001  # reads like a sentence
    """Stop where the work was not done whole: its time would say nothing."""
    if not done:
        raise SystemExit(f"Not a measurement: {otherwise}.")


def wait_a_little(_item: int, _shared: None) -> None:
    """A piece that needs no processor."""
    time.sleep(0.25)


def prepared(wheel: Wheel, folder: Path) -> tuple[Path, Path]:
    """An index of the release, and an archive of logs with its messages."""
    sites = ReleaseSites(
        wheel.package, wheel.version, scan_wheel(wheel).sites, facts_of(wheel, folder)
    )
    raw = build([sites], [])
    index = folder / "release.idx"
    index.write_bytes(raw)
    rng = random.Random(7)
    records = plantable(Index(raw))
    archive = folder / "logs.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        for number in range(LOGS):
            lines = ordinary(rng, LINES)
            if number % 4:
                record = rng.choice(records)
                text, _ = message(record, rng)
                lines[LINES * 2 // 3] = f"{record.error_class}: {text}"
            text = "\n".join(lines).encode()
            info = tarfile.TarInfo(f"rank{number}.log")
            info.size = len(text)
            file.addfile(info, io.BytesIO(text))
    return index, archive


def node_of(_item: int, _shared: None) -> str:
    """Where a piece is done."""
    import ray  # noqa: PLC0415  # only a node has it

    time.sleep(0.1)
    return str(ray.get_runtime_context().get_node_id())


def warm(spread: Spread, nodes: int) -> None:
    """Wait until every node has done something: a process of it takes seconds to start."""
    seen: set[str] = set()
    while len(seen) < nodes:
        seen |= {node for _, node in spread.each(node_of, range(4 * nodes))}


def least(work: Callable[[], None], rounds: int) -> float:
    """Least seconds of some work."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return round(min(times), 2)


def on_cluster(work: Work, rounds: int) -> dict[str, float]:
    """Seconds with one node, then with two."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  # an extra

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Beside pools of this machine nobody is to give way.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  # Ray's own name
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found = {}
    try:
        for nodes in (1, 2):
            if nodes == 2:  # the second one
                cluster.add_node(num_cpus=1)
                cluster.wait_for_nodes()
            spread = RaySpread(cluster.address)
            try:
                warm(spread, nodes)
                if work.kind in ("scan", "logs"):
                    work.do(spread)  # and import once
                found[f"ray{nodes}"] = least(partial(work.do, spread), rounds)
            finally:
                spread.close()
    finally:
        cluster.shutdown()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="*", choices=["scan", "synthesis", "logs", "waiting", []])
    parser.add_argument("--release", default=load_settings().default_release)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--where", choices=["here", "ray"], help="one of the two; both by default")
    args = parser.parse_args()
    wheel = cached_wheel(*parse_release(args.release), load_settings())
    if wheel is None:
        raise SystemExit(f"{args.release} is not in the cache: `reprobase scan {args.release}`.")
    for kind in args.kind or ["scan", "synthesis", "logs", "waiting"]:
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory(prefix="reprobase-spread-") as folder:
            work = Work(kind, wheel, Path(folder))
            found = {}
            for processes in (1, 2) if args.where != "ray" else ():
                spread = work.here(processes)
                found[f"here{processes}"] = least(partial(work.do, spread), args.rounds)
                spread.close()
            try:
                if args.where != "here":
                    found |= on_cluster(work, args.rounds)
            except ImportError:
                print("Ray is not installed: `pip install -e '.[ray]'`", file=sys.stderr)
        ratios = {
            f"{one}/{other}": round(found[one] / found[other], 2)
            for one, other in (("here1", "here2"), ("ray1", "ray2"), ("here2", "ray2"))
            if one in found and other in found
        }
        print(json.dumps({"work": kind, "load": round(load, 1), **found, "ratios": ratios}))


if __name__ == "__main__":
    main()
