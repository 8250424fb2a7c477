"""Two scans of one release: the second says that one goes on, waits, and gives its result."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.db import close_engines, database_path
from app.loading.one_scan import _lock_file, my_turn, only_one
from app.settings import PROJECT_ROOT, Settings
from tests.faults.test_killed import environment
from tests.web.catalogs import fill
from tests.wheels.making import make_wheel

RELEASE = "sglang==3.0"
SAID = "another process is scanning it already"


@pytest.fixture
def large(empty: Settings) -> Settings:
    """A catalog, and a wheel that takes seconds to scan."""
    fill(empty, versions=())
    close_engines()
    code = "".join(f"def f{i}(x):\n    assert x, 'message number {i}'\n" for i in range(15_000))
    folder = empty.wheels_dir / "sglang"
    folder.mkdir(parents=True, exist_ok=True)
    make_wheel(folder, {"sglang/many.py": code}, package="sglang", version="3.0")
    return empty


def begin(settings: Settings, folder: Path, name: str, *more: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-u", "-m", "app.cli", "scan", "--json", *more, RELEASE]
    with (folder / f"{name}.out").open("wb") as out, (folder / f"{name}.err").open("wb") as err:
        return subprocess.Popen(
            command, env=environment(settings), cwd=PROJECT_ROOT, stdout=out, stderr=err
        )


def says(path: Path, word: str, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while word not in path.read_text() and time.monotonic() < end:
        time.sleep(0.02)
    return word in path.read_text()


def count(settings: Settings, table: str) -> int:
    path = database_path(settings)
    assert path is not None
    with sqlite3.connect(path) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize("more", [(), ("--again",)])
def test_the_second_waits_and_gives_the_result_of_the_first(
    large: Settings, tmp_path: Path, more: tuple[str, ...]
) -> None:
    first = begin(large, tmp_path, "first", *more)
    assert says(tmp_path / "first.err", "reading")
    second = begin(large, tmp_path, "second", *more)
    assert (first.wait(120), second.wait(120)) == (0, 0)
    said = (tmp_path / "second.err").read_text()
    assert SAID in said
    assert "reading" not in said, "it was read once"
    both = [json.loads((tmp_path / f"{name}.out").read_text()) for name in ("first", "second")]
    assert both[0] == both[1]
    assert both[0][0]["sites"] == count(large, "site") == 15_000


def test_when_the_first_is_killed_the_second_does_it(large: Settings, tmp_path: Path) -> None:
    first = begin(large, tmp_path, "first")
    assert says(tmp_path / "first.err", "reading")
    second = begin(large, tmp_path, "second")
    assert says(tmp_path / "second.err", SAID)
    os.kill(first.pid, signal.SIGKILL)
    first.wait(60)
    assert second.wait(120) == 0, (tmp_path / "second.err").read_text()
    assert count(large, "site") == 15_000
    assert count(large, "release") == 1


def test_whoever_was_first_is_not_waited_for_by_another_release(empty: Settings) -> None:
    told: list[int] = []
    with only_one(_lock_file(empty, "sglang", "1.0")) as mine:
        assert mine
        with my_turn(empty, "sglang", "2.0", lambda: told.append(1)) as waited:
            assert not waited
        with only_one(_lock_file(empty, "sglang", "1.0")) as again:
            assert not again
    assert told == []
