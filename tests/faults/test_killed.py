"""A process that is killed in the middle loses its own work and nothing else."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from app.db import close_engines, database_path
from app.settings import PROJECT_ROOT, Settings
from tests.web.catalogs import fill
from tests.wheels.making import make_wheel

EXPLAINED = "draft-step-exceeds-hash-key"


def environment(settings: Settings) -> dict[str, str]:
    return os.environ | {
        "REPROBASE_DATABASE_URL": settings.database_url,
        "REPROBASE_CACHE_DIR": str(settings.cache_dir),
        "PYTHONPATH": str(PROJECT_ROOT),
    }


def run(settings: Settings, *arguments: str, cwd: Path = PROJECT_ROOT) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments], env=environment(settings), cwd=cwd,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed_at(settings: Settings, word: str, *arguments: str, cwd: Path = PROJECT_ROOT) -> None:
    """Start a command and kill it, as `kill -9` does, once its progress says a word."""
    command = [sys.executable, "-u", "-m", "app.cli", *arguments]
    child = subprocess.Popen(
        command, env=environment(settings) | {"PYTHONPATH": str(cwd)}, cwd=cwd,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    said = []
    for line in child.stdout:
        said.append(line)
        if word in line:
            child.send_signal(signal.SIGKILL)
            break
    assert child.wait(60) == -signal.SIGKILL, "".join(said)


def rows(settings: Settings) -> dict[str, list[tuple[object, ...]]]:
    """What the catalog holds, without times."""
    path = database_path(settings)
    assert path is not None
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {
            table: sorted(db.execute(f"SELECT {columns} FROM {table}"))
            for table, columns in (
                ("entry", "id, template, slug, explained"),
                ("site", "entry_id, file, line"),
                ("release", "package, version, sites"),
                ("run", "id, outcome, passed"),
            )
        }


@pytest.mark.parametrize("word", ["reading", "storing"])
def test_a_killed_load_leaves_the_catalog_as_it_was(empty: Settings, word: str) -> None:
    fill(empty)
    code = "".join(f"def f{i}(x):\n    assert x, 'message number {i}'\n" for i in range(30_000))
    large = {"sglang/many.py": code}
    make_wheel(empty.wheels_dir / "sglang", large, package="sglang", version="3.0")
    close_engines()
    run(empty, "scan", "sglang==3.0")
    before = rows(empty)
    killed_at(empty, word, "load", "--rescan")
    assert rows(empty) == before
    run(empty, "load")
    assert rows(empty) == before


def test_a_killed_verify_leaves_whole_files_and_no_process(empty: Settings, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    for folder in ("app", "reproducers", "data", "templates"):
        shutil.copytree(
            PROJECT_ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    evidence = root / "data" / "evidence" / f"{EXPLAINED}.jsonl"
    arguments = ("verify", EXPLAINED, "--on", "reference")
    verify(empty, root, *arguments)
    before = evidence.read_bytes()
    assert before.count(b"\n") >= 2, "a trigger and a fix"
    killed_at(empty, "trigger on reference ...", *arguments, cwd=root)
    assert evidence.read_bytes() == before
    assert [p.name for p in evidence.parent.glob(f"*{EXPLAINED}*")] == [evidence.name]
    end = time.monotonic() + 30
    while (left := _runners(root)) and time.monotonic() < end:
        time.sleep(0.2)
    assert left == [], "what the killed one had started ends by itself"
    verify(empty, root, *arguments)
    assert evidence.read_bytes() == before


WRITER = """
import sys
from pathlib import Path
from app.models import Run
from app.runs.evidence import write_evidence
for n in range(10_000):
    runs = [
        Run(id=f"{i:016}", entry_id="x", step="fix", subject=f"sglang==0.{i}.0", state="done",
            outcome="returned", passed=True, device="cpu", stdout="", reason=f"{n} " * 2000)
        for i in range(40)
    ]
    write_evidence(Path(sys.argv[1]), runs)
    print("written", flush=True)
"""


def test_evidence_that_is_killed_while_it_is_written_is_the_old_or_the_new_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "an-error.jsonl"
    rounds = random.Random(7)
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], cwd=PROJECT_ROOT, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
        )  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == b"written\n"
        time.sleep(rounds.uniform(0.0, 0.3))
        child.kill()
        child.wait(60)
        said = [json.loads(line)["reason"].split()[0] for line in path.read_text().splitlines()]
        assert len(said) == 40
        assert len(set(said)) == 1, "all of one writing"


def verify(settings: Settings, root: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        env=environment(settings) | {"PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def _runners(root: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "environ", "cwd"]):
        words = " ".join(process.info["cmdline"] or [])
        if "reproducers" in words and str(root) in f"{words} {process.info['environ']}":
            found.append(words)
    return found
