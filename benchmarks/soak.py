"""The site under load for a long time: 32 and 512 connections, with scans and runs going on.

    python benchmarks/soak.py [--seconds 600] [--connections 32,512] [--release sglang==0.5.23]

Every number of connections gets the whole duration. Meanwhile a release is scanned again and again
into the same database and a reproducer is run through the site's own queue. Printed are answers per
second, p50, p99 and the slowest answer, failures, and the memory of the site over time; beside them
a bare Starlette application that sends as many bytes, asked by the same client on the same machine
at the same time of day. The figures are kept (`soak_figures`). Ends with exit code 1 if an answer
was wrong or the memory kept growing.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil
from soak_figures import keep

from app.settings import load_settings
from app.wheels import cached_wheel, parse_release

ROOT = Path(__file__).resolve().parent.parent
SLUG = "kda-verify-exceeds-scratch-steps"
LOG = "ERROR x\n" * 50 + "ValueError: KDA verify needs 9 scratch steps, has 8\n"
GROWTH = 1.35
"""Memory at the end may be this many times what it was after the first fifth."""
SLOWEST = 5
"""Requests that are named."""
PEER = """
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
BODY = b"x" * {size}
app = Starlette(routes=[Route("/{{p:path}}", lambda r: Response(BODY), methods=["GET", "POST"])])
"""


@dataclass(slots=True)
class Figures:
    """What a client saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    refused: list[float] = field(default_factory=list)
    """Seconds until a 503 with Retry-After came; they are no answers."""
    slowest: list[tuple[float, str]] = field(default_factory=list)
    received: int = 0

    def summary(self, took: float) -> dict[str, object]:
        """The figures in short, times in milliseconds."""
        times = sorted(self.seconds) or [0.0]

        def at(share: float) -> float:
            return round(times[min(len(times) - 1, int(share * len(times)))] * 1e3, 1)

        return {
            "perSecond": round(len(self.seconds) / took, 1),
            "p50": at(0.5),
            "p99": at(0.99),
            "slowest": round(times[-1] * 1e3, 1),
            "statuses": dict(sorted(self.statuses.items())),
            "slowestRequests": [f"{took:.1f} s {line}" for took, line in self.slowest],
            "refused": len(self.refused),
            "slowestRefusal": round(max(self.refused, default=0.0) * 1e3, 1),
            "failures": dict(self.failures),
        }


def requests_of(port: int) -> list[bytes]:
    """What readers ask for: pages, records, lists, searches, logs."""
    base = f"http://127.0.0.1:{port}"
    with urllib.request.urlopen(f"{base}/api/errors?limit=200") as answer:
        keys = [row["slug"] or row["id"] for row in json.load(answer)["records"]]
    paths = [f"/errors/{key}" for key in keys] + [f"/api/errors/{key}" for key in keys]
    paths += ["/", "/errors", "/releases", "/families", "/api/releases", "/readyz"] * 8
    words = ("scratch steps", "cuda graph", "out of memory", "page size must be", "tp size")
    paths += [f"/api/errors?q={word.replace(' ', '+')}" for word in words] * 8
    host = f"Host: 127.0.0.1:{port}\r\n"
    found = [f"GET {path} HTTP/1.1\r\n{host}\r\n".encode() for path in paths]
    head = f"POST /api/diagnose HTTP/1.1\r\n{host}Content-Type: text/plain\r\n"
    log = f"{head}Content-Length: {len(LOG)}\r\n\r\n{LOG}".encode()
    return found + [log] * 8


async def ask(port: int, asked: list[bytes], figures: Figures, until: float, seed: int) -> None:
    """One connection that asks again and again, and opens anew when it is closed."""
    rng = random.Random(seed)
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as e:
            figures.failures[type(e).__name__] += 1
            await asyncio.sleep(0.2)
            continue
        with contextlib.suppress(OSError):
            try:
                while time.monotonic() < until:
                    pause = await _once(reader, writer, rng.choice(asked), figures)
                    if pause:  # as a browser would: the connection is not held meanwhile
                        await asyncio.sleep(min(pause, max(0.0, until - time.monotonic())))
                        break
            except (OSError, asyncio.IncompleteReadError, ValueError, TimeoutError) as e:
                figures.failures[type(e).__name__] += 1
            writer.close()
            await writer.wait_closed()


async def _once(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, figures: Figures
) -> float:
    """Ask once; the seconds that a refusal says to wait, else 0."""
    began = time.perf_counter()
    writer.write(request)
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        took = time.perf_counter() - began
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        await reader.readexactly(length)
    status = int(head[9:12])
    figures.statuses[status] += 1
    figures.received += len(head) + length
    again = head.lower().partition(b"retry-after:")[2].split(b"\r\n", 1)[0]
    if status == 503 and again:
        figures.refused.append(took)
        return float(again)
    whole = time.perf_counter() - began
    figures.seconds.append(whole)
    if len(figures.slowest) < SLOWEST or whole > figures.slowest[-1][0]:
        figures.slowest.append((whole, request.split(b" HTTP", 1)[0].decode()))
        figures.slowest = sorted(figures.slowest, reverse=True)[:SLOWEST]
    return 0.0


async def load(port: int, asked: list[bytes], connections: int, seconds: float) -> Figures:
    """Ask over so many connections for so long."""
    figures = Figures()
    until = time.monotonic() + seconds
    await asyncio.gather(*(ask(port, asked, figures, until, n) for n in range(connections)))
    return figures


@contextlib.contextmanager
def served(command: list[str], environment: dict[str, str], port: int) -> Iterator[psutil.Process]:
    """A server as a process of its own, once it answers."""
    child = subprocess.Popen(command, env=environment, cwd=ROOT)
    try:
        end = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if child.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{command[0]} did not start")
            time.sleep(0.1)
        yield psutil.Process(child.pid)
    finally:
        child.terminate()
        child.wait(60)


class Work:
    """Scans and runs that go on meanwhile."""

    def __init__(self, folder: Path, environment: dict[str, str], wheel: Path, port: int) -> None:
        self._database = folder / "soak.db"
        self._environment, self._wheel, self._port = environment, wheel, port
        self.scans: Counter[int] = Counter()
        self.runs: Counter[int] = Counter()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin."""
        self._task = asyncio.gather(self._scan(), self._run())  # type: ignore[assignment]  # a future is cancelled alike
        return self

    async def __aexit__(self, *_: object) -> None:
        """End what goes on."""
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    def outcomes(self) -> dict[str, int]:
        """How the runs ended that were started here, by step and outcome."""
        with contextlib.closing(sqlite3.connect(self._database, timeout=60)) as db:
            found = db.execute(
                "SELECT step || ' ' || coalesce(outcome, state), count(*) FROM run "
                "WHERE origin = 'local' GROUP BY 1 ORDER BY 1"
            )
            return dict(found.fetchall())

    async def _scan(self) -> None:
        while True:
            child = await asyncio.create_subprocess_exec(
                "nice", "-n", "10", sys.executable, "-m", "app.cli", "scan", "--again",
                "--wheel", str(self._wheel), env=self._environment, cwd=ROOT,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                self.scans[await child.wait()] += 1
            except asyncio.CancelledError:
                child.terminate()
                await child.wait()
                raise
            await asyncio.sleep(5)

    async def _run(self) -> None:
        host = f"127.0.0.1:{self._port}"
        request = (
            f"POST /api/errors/{SLUG}/runs HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(request.encode())
            self.runs[int((await reader.read())[9:12])] += 1
            writer.close()
            await asyncio.sleep(10)


async def watched(process: psutil.Process, samples: list[int]) -> None:
    """The site's own memory, every second."""
    while True:
        samples.append(process.memory_info().rss)
        await asyncio.sleep(1)


async def phase(
    site: psutil.Process, work: Work, port: int, connections: int, seconds: float
) -> dict[str, object]:
    """One number of connections for the whole duration."""
    samples: list[int] = []
    asked = requests_of(port)
    async with work:
        watch = asyncio.create_task(watched(site, samples))
        figures = await load(port, asked, connections, seconds)
        watch.cancel()
    early = max(samples[: max(1, len(samples) // 5)])
    return {
        "connections": connections,
        "seconds": seconds,
        **figures.summary(seconds),
        "meanBytes": figures.received // max(1, len(figures.seconds)),
        "memoryMB": {
            "start": samples[0] >> 20,
            "early": early >> 20,
            "middle": samples[len(samples) // 2] >> 20,
            "most": max(samples) >> 20,
            "end": samples[-1] >> 20,
        },
        "loadAverage": [round(number, 1) for number in os.getloadavg()],
        "grew": round(samples[-1] / early, 2),
        "scans": dict(work.scans),
        "runs": dict(work.runs),
        "outcomesSoFar": work.outcomes(),
    }


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--connections", default="32,512")
    parser.add_argument("--release", default=load_settings().default_release)
    parser.add_argument("--catalog", help="an SQLite catalog to copy; without one it is scanned")
    args = parser.parse_args()
    wheel = cached_wheel(*parse_release(args.release), load_settings())
    if wheel is None:
        raise SystemExit(f"{args.release} is not in the cache: `reprobase scan {args.release}`.")
    results = []
    with tempfile.TemporaryDirectory(prefix="reprobase-soak-") as name:
        folder = Path(name)
        environment = os.environ | {
            "REPROBASE_DATABASE_URL": f"sqlite:///{folder / 'soak.db'}", "PYTHONPATH": str(ROOT),
            "REPROBASE_CACHE_DIR": str(folder / "cache"),
        }  # fmt: skip
        (folder / "cache").mkdir()
        (folder / "cache" / "wheels").symlink_to(load_settings().wheels_dir)
        if args.catalog:
            shutil.copy(args.catalog, folder / "soak.db")
        else:
            scan = [sys.executable, "-m", "app.cli", "scan", "--wheel", str(wheel.path)]
            subprocess.run(scan, env=environment, check=True, cwd=ROOT)
        index = [sys.executable, "-m", "app.cli", "load", "--indexes", "--no-scan"]
        subprocess.run(index, env=environment, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        port = free_port()
        serve = [sys.executable, "-m", "app.cli", "serve", "--no-scan", "--port", str(port)]
        with served(serve, environment, port) as site:
            for connections in map(int, args.connections.split(",")):
                work = Work(folder, environment, wheel.path, port)
                results.append(asyncio.run(phase(site, work, port, connections, args.seconds)))
                keep({"part": "load", **results[-1]})
        (folder / "peer.py").write_text(PEER.format(size=results[0]["meanBytes"]))
        other = free_port()
        peer = [sys.executable, "-m", "uvicorn", "peer:app", "--app-dir", name, "--port",
                str(other), "--log-level", "error"]  # fmt: skip
        with served(peer, environment, other):
            asked = [f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{other}\r\n\r\n".encode()]
            short = max(2.0, args.seconds / 20)
            figures = asyncio.run(load(other, asked, 32, short))
        keep({"part": "load of bare Starlette", "seconds": short, **figures.summary(short)})
    wrong = [
        f"{r['connections']} connections: {r['statuses']} {r['failures']}, grew {r['grew']}"
        for r in results
        if r["failures"] or set(r["statuses"]) - {200, 503} or r["grew"] > GROWTH  # type: ignore[call-overload, operator]  # a dict of JSON values
    ]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
