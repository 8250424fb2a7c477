"""How many checks the program triggers and fixes by itself, at what price, and whether it is true.

    python benchmarks/synthesis.py [--release 0.5.23] [--sample 500] [--seeds 11 12 13 14]
                                   [--arguments] [--proof 100] [--again 100] [--jobs 2]
    python benchmarks/synthesis.py --reading benchmarks/readings/FILE.tsv

`--arguments` looks at every argument check (`srt/server_args.py`, `srt/arg_groups/`), `--sample` at
random raises and asserts of `srt/` for each seed (tests and raises without any argument left out:
there is nothing to match), `--again` runs a sample of what was found once more, and `--proof` runs
one on a copy of the release in which those very checks were taken out: there no trigger may raise.
The peer is a bare fork that imports nothing and returns: what a worker costs before it does
anything. What is found is kept in the cache as `reprobase synthesize` keeps it. `--reading` gives
the share of a reader's verdicts (plausible or not, with the reason) in a file of `readings/`.
"""

import argparse
import csv
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from app.runs.requests import release_subject
from app.runs.synthesizing import run_again
from app.scanner.records import ScannedSite
from app.scanner.release import scan_wheel
from app.services.synthesizing import Wish, is_argument_check, synthesize_sites
from app.settings import Settings, load_settings
from app.wheels import Wheel, fetch

SRT: Final = "sglang/srt/"
_WITHOUT: Final = ("class-only", "no-args")
Found = dict[str, Any]


def population(sites: Sequence[ScannedSite]) -> list[ScannedSite]:
    """Raises with an argument and assertions of `srt/`, its tests left out."""
    return [
        s
        for s in sites
        if s.file.startswith(SRT)
        and s.kind in ("raise", "assert")
        and "/test" not in s.file
        and not (s.kind == "raise" and (s.form in _WITHOUT or (s.condition and not s.template)))
    ]


def figures(results: Sequence[Found]) -> dict[str, Any]:
    """What came of some sites."""
    total = max(1, len(results))
    seconds = [float(r["seconds"]) for r in results]
    return {
        "sites": len(results),
        "triggered": sum(bool(r["trigger"]) for r in results) / total,
        "fixed": sum(bool(r["fix"]) for r in results) / total,
        "launch": sum(r["level"] == "launch" for r in results),
        "apiOnly": sum(bool(r.get("apiOnly")) for r in results),
        "secondsASite": statistics.fmean(seconds) if seconds else 0.0,
        "median": statistics.median(seconds) if seconds else 0.0,
        "ranks": Counter(r["fix"]["rank"] for r in results if r["fix"]),
        "reasons": Counter(r["reason"] for r in results if r["reason"]),
        "mismatches": sum(r["reason"] == "message-mismatch" for r in results),
    }


def without_checks(wheel: Wheel, results: Sequence[Found], settings: Settings, to: Path) -> Path:
    """A copy of a release in which the checks of some results are never evaluated."""
    subject = release_subject(wheel, settings)
    root = to / "copy"
    shutil.copytree(str(subject.root), root, copy_function=os.link)
    by_file: dict[str, set[int]] = {}
    for result in results:
        by_file.setdefault(str(result["file"]), set()).add(int(result["line"]))
    for file, lines in by_file.items():
        path = root / file
        text = path.read_text(encoding="utf-8").split("\n")
        for line in lines:
            text[line - 1] = re.sub(r"^(\s*)(?=raise|assert)", r"\1if 0: ", text[line - 1])
        path.unlink()
        path.write_text("\n".join(text), encoding="utf-8")
    return root


def bare_fork(times: int = 50) -> float:
    """Seconds for a fork that does nothing: the floor of what a worker costs."""
    started = time.perf_counter()
    for _ in range(times):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return (time.perf_counter() - started) / times


def reading(path: Path) -> dict[str, Any]:
    """How many of the triggers and fixes that somebody read are plausible, in all and by rank."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    by_rank: dict[str, list[bool]] = {}
    for row in rows:
        by_rank.setdefault(row["rank"], []).append(row["plausible"] == "yes")
    return {
        "read": len(rows),
        "plausible": sum(row["plausible"] == "yes" for row in rows) / max(1, len(rows)),
        "byRank": {rank: f"{sum(v)} of {len(v)}" for rank, v in by_rank.items()},
    }


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--release", default="0.5.23")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14])
    parser.add_argument("--arguments", action="store_true")
    parser.add_argument("--proof", type=int, default=0)
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reading", type=Path)
    args = parser.parse_args()
    if args.reading:
        print(json.dumps(reading(args.reading), indent=1))
        return 0
    settings = load_settings()
    wheel = fetch("sglang", args.release, settings)
    every = scan_wheel(wheel).sites
    sites = population(every)
    out: dict[str, Any] = {"release": args.release, "population": len(sites)}
    found: dict[str, Found] = {}

    def look(chosen: Sequence[ScannedSite], name: str) -> None:
        started = time.perf_counter()
        results = synthesize_sites(
            wheel, sorted(chosen, key=lambda s: (s.file, s.line, s.site_id)), Wish(), settings,
            every=every, jobs=args.jobs,
        )  # fmt: skip
        out[name] = figures(results) | {"wall": time.perf_counter() - started}
        found.update({str(r["siteId"]): r for r in results})
        print(name, json.dumps(out[name], default=dict), file=sys.stderr, flush=True)

    if args.arguments:
        look([s for s in sites if is_argument_check(s.file)], "arguments")
    for seed in args.seeds if args.sample else ():
        rng = random.Random(seed)  # a sample
        look(rng.sample(sites, min(args.sample, len(sites))), f"seed {seed}")
    triggered = [r for r in found.values() if r["trigger"]]
    if args.again and triggered:
        sample = random.Random(1).sample(triggered, min(args.again, len(triggered)))  # a sample
        ended = run_again(release_subject(wheel, settings), sample)
        out["again"] = dict(Counter(f"{e['trigger']}/{e['fix']}" for e in ended.values()))
    if args.proof and triggered:
        sample = random.Random(2).sample(triggered, min(args.proof, len(triggered)))  # a sample
        with tempfile.TemporaryDirectory(dir=settings.cache_dir) as folder:
            root = without_checks(wheel, sample, settings, Path(folder))
            subject = replace(release_subject(wheel, settings), root=str(root))
            Path(folder).chmod(0o755)
            ended = run_again(subject, sample)
        out["proof"] = dict(Counter(str(e["trigger"]) for e in ended.values()))
    out["bareFork"] = bare_fork()
    print(json.dumps(out, indent=1, default=dict))
    return 0


if __name__ == "__main__":
    sys.exit(main())
