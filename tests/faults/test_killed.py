"""A process that is killed in the middle loses its own work and nothing else."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
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


def killed_at(
    settings: Settings,
    word: str,
    *arguments: str,
    cwd: Path = PROJECT_ROOT,
    when: Callable[[], bool] = lambda: True,
) -> None:
    """Start a command and kill it, as `kill -9` does, once its progress says a word, and `when`."""
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
            end = time.monotonic() + 60
            while not when() and child.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
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
    path = database_path(empty)
    assert path is not None
    log = path.with_name(f"{path.name}-wal")

    def half_stored() -> bool:
        """Much was written, and it is not all: thirty thousand rows are several megabytes."""
        return word != "storing" or (log.exists() and log.stat().st_size > 1 << 20)

    killed_at(empty, word, "load", "--rescan", when=half_stored)
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
    code = root / "reproducers" / "errors" / f"{EXPLAINED.replace('-', '_')}.py"
    whole = code.read_text()
    slow = re.sub(r"(?m)^(def trigger\(.*)$", r"\1\n    __import__('time').sleep(50)", whole)
    assert slow != whole
    code.write_text(slow)  # a run that would not end by itself in time
    killed_at(empty, "trigger on reference ...", *arguments, cwd=root)
    code.write_text(whole)
    assert evidence.read_bytes() == before
    assert [p.name for p in evidence.parent.glob(f"*{EXPLAINED}*")] == [evidence.name]
    end = time.monotonic() + 25
    while (left := _runners(root)) and time.monotonic() < end:
        time.sleep(0.2)
    assert left == [], "what the killed one had started is ended"
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
            outcome="returned", passed=True, device="cpu", stdout="", reason=f"{n} " * 500)
        for i in range(40)
    ]
    write_evidence(Path(sys.argv[1]), runs)
    print("written", flush=True)
"""


def test_evidence_is_the_old_or_the_new_file_at_every_moment(tmp_path: Path) -> None:
    """Looked at again and again while it is written, and once more when the writer was killed."""
    path = tmp_path / "an-error.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], cwd=PROJECT_ROOT, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
    )  # fmt: skip
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"written\n"
        seen: set[str] = set()
        end = time.monotonic() + 60
        while len(seen) < 40 and time.monotonic() < end:
            seen.add(writing_of(path.read_bytes()))
        assert len(seen) >= 10, "it was looked at while it was written"
    finally:
        child.kill()
        child.wait(60)
    assert writing_of(path.read_bytes())


def writing_of(raw: bytes) -> str:
    """The number of the writing that a whole file is of."""
    lines = raw.splitlines()
    assert raw.endswith(b"\n")
    assert len(lines) == 40
    [said] = {json.loads(line)["reason"].split()[0] for line in lines}
    return str(said)


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
