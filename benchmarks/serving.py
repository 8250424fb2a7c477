"""One entry page and its JSON: the whole site, bare Starlette and Datasette, in turns.

    python benchmarks/serving.py [--seconds 3] [--rounds 5] [--connections 32] [KEY]

Three servers of one process each serve the same entry: this site with everything that stands
around its routes, a Starlette application of two routes that returns the very same bytes, and
Datasette with the entry as the row of a table. A small client of its own keeps some connections
busy with one request after the other. The ratios are what to look at. Needs `pip install
'.[bench]'` for Datasette; without it that peer is left out, and said so.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

KEY = "kda-verify-exceeds-scratch-steps"
BARE = """
from pathlib import Path
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

HTML, JSON = (Path({folder!r}, name).read_bytes() for name in ("page.html", "page.json"))

async def html(request):
    return Response(HTML, media_type="text/html; charset=utf-8")

async def data(request):
    return Response(JSON, media_type="application/json")

app = Starlette(routes=[Route("/html", html), Route("/json", data)])
"""


@dataclass(slots=True)
class Target:
    """One address of one server, and what asking it showed."""

    name: str
    kind: str
    port: int
    path: str
    rates: list[float] = field(default_factory=list)
    slowest: list[float] = field(default_factory=list)
    """The 99th percentile of each round, in milliseconds."""
    size: int = 0

    @property
    def rate(self) -> float:
        """Requests a second, median of the rounds."""
        return statistics.median(self.rates)

    @property
    def p99(self) -> float:
        """Milliseconds, median of the rounds."""
        return statistics.median(self.slowest)


@contextlib.contextmanager
def server(command: list[str], port: int, path: str, **environment: str) -> Iterator[None]:
    """A server process, up when the block begins."""
    process = subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                asyncio.run(get(port, path))
                break
            except (OSError, asyncio.IncompleteReadError):
                if process.poll() is not None or time.monotonic() > deadline:
                    said = process.stderr.read().decode() if process.stderr else ""
                    raise SystemExit(f"{command} did not come up:\n{said}") from None
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(20)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


async def get(port: int, path: str) -> bytes:
    """The body of one answer; it has to be 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = await ask(reader, writer, request(port, path))
    writer.close()
    return body


def request(port: int, path: str) -> bytes:
    """A request as bytes; connections are kept."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\n\r\n".encode()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, raw: bytes) -> bytes:
    """One request and its answer on an open connection."""
    writer.write(raw)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 200"):
        raise SystemExit(head.decode())
    if b"transfer-encoding: chunked" in head:
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(parts)
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


async def measure(target: Target, seconds: float, connections: int) -> None:
    """Keep some connections busy for a while; notes the rate and the 99th percentile."""
    raw = request(target.port, target.path)
    times: list[float] = []
    streams = [await asyncio.open_connection("127.0.0.1", target.port) for _ in range(connections)]
    end = time.perf_counter() + seconds

    async def keep_busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (began := time.perf_counter()) < end:
            target.size = len(await ask(reader, writer, raw))
            times.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(keep_busy(*stream) for stream in streams))
    spent = time.perf_counter() - began
    for _, writer in streams:
        writer.close()
    target.rates.append(len(times) / spent)
    target.slowest.append(sorted(times)[int(len(times) * 0.99)] * 1e3)


def fill_datasette(path: Path, document: dict[str, object]) -> None:
    """The entry as the one row of a table, a column a key."""
    columns = {
        key: value if isinstance(value, str | int | float | None) else json.dumps(value)
        for key, value in document.items()
    }
    with sqlite3.connect(path) as db:
        names = ", ".join(f'"{name}"' for name in columns)
        db.execute(f"create table entries ({names}, primary key (id))")
        marks = ", ".join("?" for _ in columns)
        db.execute(f"insert into entries values ({marks})", list(columns.values()))


def main() -> None:
    """Start the servers, ask them in turns, print one row a server and kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("key", nargs="?", default=KEY)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=32)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        targets = start(Path(folder), args.key, stack)
        for _ in range(args.rounds):
            for target in targets:
                asyncio.run(measure(target, args.seconds, args.connections))
        report(targets)


def start(folder: Path, key: str, stack: contextlib.ExitStack) -> list[Target]:
    """The three servers, and what is asked of them."""
    python, uvicorn = sys.executable, [sys.executable, "-m", "uvicorn", "--no-access-log"]
    ours, bare, peer = free_port(), free_port(), free_port()
    database = f"sqlite:///{folder / 'catalog.db'}"
    load = [python, "-m", "app.cli", "load"]
    subprocess.run(load, env=os.environ | {"REPROBASE_DATABASE_URL": database}, check=True,
                   capture_output=True)  # fmt: skip
    site = [*uvicorn, "--factory", "app.main:create_app", "--port", str(ours)]
    html, data = f"/errors/{key}", f"/api/errors/{key}"
    stack.enter_context(server(site, ours, html, REPROBASE_DATABASE_URL=database))
    (folder / "page.html").write_bytes(asyncio.run(get(ours, html)))
    (folder / "page.json").write_bytes(asyncio.run(get(ours, data)))
    (folder / "bare.py").write_text(BARE.format(folder=str(folder)))
    plain = [*uvicorn, "--app-dir", str(folder), "bare:app", "--port", str(bare)]
    stack.enter_context(server(plain, bare, "/html"))
    targets = [
        Target("this site", "HTML", ours, html), Target("bare Starlette", "HTML", bare, "/html"),
        Target("this site", "JSON", ours, data), Target("bare Starlette", "JSON", bare, "/json"),
    ]  # fmt: skip
    if importlib.util.find_spec("datasette") is None:
        print("Datasette is not installed: pip install '.[bench]'\n", file=sys.stderr)
        return targets
    record = json.loads((folder / "page.json").read_text())["record"]
    fill_datasette(folder / "entries.db", record)
    row = f"/entries/entries/{record['id']}"
    command = [
        python,
        "-m",
        "datasette",
        "serve",
        "-i",
        str(folder / "entries.db"),
        "-p",
        str(peer),
    ]
    stack.enter_context(server([*command, "--setting", "num_sql_threads", "3"], peer, row))
    targets.insert(2, Target("Datasette", "HTML", peer, row))
    targets.append(Target("Datasette", "JSON", peer, f"{row}.json"))
    return targets


def report(targets: list[Target]) -> None:
    """One row a server and kind, and how many times ours is faster."""
    ours = {t.kind: t for t in targets if t.name == "this site"}
    print(f"{'server':<16}{'':<6}{'bytes':>8}{'requests/s':>12}{'p99 ms':>9}{'ours is':>10}")
    for t in targets:
        ratio = f"{ours[t.kind].rate / t.rate:.2f} x" if t.name != "this site" else ""
        print(f"{t.name:<16}{t.kind:<6}{t.size:>8}{t.rate:>12,.0f}{t.p99:>9.1f}{ratio:>10}")


if __name__ == "__main__":
    main()
