"""How long a whole release takes: our scan, database included, beside a plain ast.NodeVisitor.

The peer parses every file with `ast.parse` and walks it with a `NodeVisitor`, as anyone would write
it first: class, template, function and lines of every raise, assert and log call, and nothing
else: no guards, no constants, no helper functions, no C++, no patterns put to the test, no
database. Both read the same wheels on the same machine, in turn.

    python benchmarks/scan.py [--rounds N] [VERSION VERSION]
"""

import argparse
import ast
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.settings import PROJECT_ROOT, load_settings
from app.wheels import fetch

LEVELS = {"warning", "error", "exception", "critical"}


class Naive(ast.NodeVisitor):
    """The peer: a record for each raise, assert and log call."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names: list[str] = []
        self.found: list[tuple[str, str, str, str, str, int, int | None]] = []

    def visit_named(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """A function or class: its name is a part of its sites' place."""
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_named  # noqa: N815  # ast's names

    def visit_Raise(self, node: ast.Raise) -> None:
        """A raise."""
        if isinstance(node.exc, ast.Call):
            self.add("raise", ast.unparse(node.exc.func), node.exc.args[:1], node)
        elif node.exc is not None:
            self.add("raise", ast.unparse(node.exc), [], node)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion."""
        self.add("assert", "AssertionError", [node.msg] if node.msg else [], node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """A call that logs."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS and node.args:
            self.add("log", node.func.attr, node.args[:1], node)
        self.generic_visit(node)

    def add(self, kind: str, name: str, message: list[ast.expr], node: ast.expr | ast.stmt) -> None:
        """Note a site."""
        template = self.template(message[0]) if message else ""
        where = ".".join(self.names)
        self.found.append((kind, name, template, self.path, where, node.lineno, node.end_lineno))

    def template(self, node: ast.expr) -> str:
        """The message with its holes."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.JoinedStr):
            return "".join(self.template(v) for v in node.values)
        if isinstance(node, ast.FormattedValue):
            return "{" + ast.unparse(node.value) + "}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.template(node.left) + self.template(node.right)
        return "{" + ast.unparse(node) + "}"


def naive(wheel: Path, share: int, shares: int) -> int:
    """Extract from every `shares`-th Python file; returns how many records."""
    warnings.simplefilter("ignore")
    found = 0
    with zipfile.ZipFile(wheel) as archive:
        for name in [n for n in archive.namelist() if n.endswith(".py")][share::shares]:
            visitor = Naive(name)
            visitor.visit(ast.parse(archive.read(name)))
            found += len(visitor.found)
    return found


@dataclass(slots=True)
class Spent:
    """What some processes took."""

    seconds: float
    cpu: float
    megabytes: float
    """Most memory at one time, all processes together."""


def run(*commands: list[str], env: dict[str, str] | None = None) -> Spent:
    """Run commands side by side and watch them and their children."""
    before = os.times()
    started = time.perf_counter()
    quiet = subprocess.DEVNULL
    children = [
        subprocess.Popen(c, cwd=PROJECT_ROOT, env=env, stdout=quiet, stderr=quiet) for c in commands
    ]
    most = [0.0]
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=([c.pid for c in children], most, stop))
    watcher.start()
    codes = [c.wait() for c in children]
    seconds = time.perf_counter() - started
    stop.set()
    watcher.join()
    if any(codes):
        raise SystemExit(f"{commands} ended with {codes}")
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Spent(seconds, cpu, most[0])


def watch(pids: list[int], most: list[float], stop: threading.Event) -> None:
    """Note the most memory that some processes and their children hold together."""
    while not stop.wait(0.05):
        total = 0
        for pid in pids:
            try:
                parent = psutil.Process(pid)
                for process in (parent, *parent.children(recursive=True)):
                    total += process.memory_info().rss
            except psutil.Error:
                continue
        most[0] = max(most[0], total / 1e6)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=["0.5.22", "0.5.23"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--naive", nargs=3, metavar=("WHEEL", "SHARE", "SHARES"))
    args = parser.parse_args()
    if args.naive:
        print(naive(Path(args.naive[0]), int(args.naive[1]), int(args.naive[2])))
        return
    wheels = [fetch("sglang", v, load_settings()).path for v in args.versions]
    measured: dict[str, list[Spent]] = {}
    for number in range(args.rounds):
        print(f"round {number + 1}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for name, wheel in zip(("first", "following"), wheels, strict=True):
                for what, spent in measure(wheel, folder).items():
                    measured.setdefault(f"{what}, {name}", []).append(spent)
                    print(
                        f"  {what + ', ' + name:<32}{spent.seconds:8.2f} s{spent.cpu:8.2f} s cpu"
                        f"{spent.megabytes:7.0f} MB",
                        flush=True,
                    )
    print(f"\n{'medians':<34}{'s':>8}{'cpu s':>8}{'MB':>7}{'time to naive':>15}{'cpu':>8}")
    for name, all_spent in measured.items():
        peer = measured["naive, " + name.rpartition(", ")[2]]
        spent, base = (
            Spent(*(statistics.median(getattr(s, f) for s in these) for f in Spent.__slots__))
            for these in (all_spent, peer)
        )
        print(
            f"{name:<34}{spent.seconds:8.2f}{spent.cpu:8.2f}{spent.megabytes:7.0f}"
            f"{spent.seconds / base.seconds:15.2f}{spent.cpu / base.cpu:8.2f}"
        )


def measure(wheel: Path, folder: str) -> dict[str, Spent]:
    """The peer in one and in two processes, and our scan into the catalog in a folder."""
    env = {
        **os.environ,
        "REPROBASE_DATABASE_URL": f"sqlite:///{folder}/catalog.db",
        "PYTHONPATH": str(PROJECT_ROOT),
    }
    peer = [sys.executable, __file__, "--naive", str(wheel)]
    scan = [sys.executable, "-m", "app.cli", "scan", "--wheel", str(wheel)]
    return {
        "naive": run([*peer, "0", "1"], env=env),
        "scan": run(scan, env=env),
        "naive in two processes": run([*peer, "0", "2"], [*peer, "1", "2"], env=env),
    }


if __name__ == "__main__":
    main()
