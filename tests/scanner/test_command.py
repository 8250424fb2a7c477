"""`reprobase scan` and `reprobase releases` as a user calls them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.settings import PROJECT_ROOT, Settings
from tests.wheels.making import make_wheel

CODE = "def f(n):\n    if n > 1:\n        raise ValueError(f'bad {n}')\n"
KEYS = {
    "package", "version", "files", "unparsed", "sites", "templates", "native", "unrecoverable",
    "entries", "new", "moved", "reworded", "classChanged", "gone", "seconds",
}  # fmt: skip


def call(world: Settings, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *map(str, arguments)],
        check=False,
        env=environment(world),
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def environment(world: Settings) -> dict[str, str]:
    return {
        **os.environ,
        "REPROBASE_DATABASE_URL": world.database_url,
        "REPROBASE_CACHE_DIR": str(world.cache_dir),
    }


@pytest.fixture
def wheels(tmp_path: Path) -> dict[str, Path]:
    return {
        version: make_wheel(tmp_path, {"sglang/a.py": text}, package="sglang", version=version)
        for version, text in {"1.0": CODE, "1.1": CODE + "\n\nassert f, 'new'\n"}.items()
    }


def test_the_result_has_the_keys_of_the_contract(sqlite: Settings, wheels: dict[str, Path]) -> None:
    first = call(sqlite, "scan", "--wheel", wheels["1.0"], "--json")
    assert first.returncode == 0, first.stderr
    (result,) = json.loads(first.stdout)
    assert set(result) >= KEYS
    assert (result["package"], result["version"], result["new"]) == ("sglang", "1.0", 0)
    assert "sglang==1.0" in first.stderr
    second = call(sqlite, "scan", "sglang==1.1", "--wheel", wheels["1.1"], "--json")
    (result,) = json.loads(second.stdout)
    assert (result["new"], result["gone"], result["sites"]) == (1, 0, 2)
    listed = json.loads(call(sqlite, "releases", "--json").stdout)
    assert [r["version"] for r in listed] == ["1.0", "1.1"]
    assert set(listed[0]) >= KEYS


def test_without_json_a_line_tells_the_same(sqlite: Settings, wheels: dict[str, Path]) -> None:
    done = call(sqlite, "scan", "--wheel", wheels["1.0"])
    assert done.stdout == (
        "sglang==1.0: 1 sites in 1 files, 1 entries; 1 Python messages and 0 native checks read, "
        "0 unreadable\n"
    )
    table = call(sqlite, "releases").stdout.splitlines()
    assert table[0].split() == ["release", "entries", "sites", "native", "unreadable", "scanned"]
    assert table[1].startswith("sglang==1.0")


def test_a_release_is_taken_out_by_name(sqlite: Settings, wheels: dict[str, Path]) -> None:
    assert "No release is scanned yet" in call(sqlite, "releases").stdout
    call(sqlite, "scan", "--wheel", wheels["1.0"])
    assert "No release is scanned yet" in call(sqlite, "releases", "--remove", "sglang==1.0").stdout
    again = call(sqlite, "releases", "--remove", "sglang==1.0")
    assert again.returncode == 2
    assert "sglang==1.0 is not in the catalog" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name a release"),
        (("sglang",), "write it as PACKAGE==VERSION"),
        (("sglang==one",), "is not a version"),
        (("a==1", "b==2", "--wheel", "x.whl"), "--wheel is one release"),
        (("--wheel", "no-such.whl"), "There is no file"),
    ],
)
def test_wrong_usage_is_a_sentence_and_code_two(
    sqlite: Settings, arguments: tuple[str, ...], said: str
) -> None:
    done = call(sqlite, "scan", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_source_distribution_and_a_wrong_release_are_refused(
    sqlite: Settings, wheels: dict[str, Path], tmp_path: Path
) -> None:
    sdist = tmp_path / "sglang-1.0.tar.gz"
    sdist.write_bytes(b"\x1f\x8b")
    disguised = tmp_path / "sglang-3.0-py3-none-any.whl"
    disguised.write_bytes(b"\x1f\x8b")
    for path, said in ((sdist, "source distribution"), (disguised, "cannot be opened as a zip")):
        done = call(sqlite, "scan", "--wheel", path)
        assert done.returncode == 2
        assert said in done.stderr
    done = call(sqlite, "scan", "sglang==2.0", "--wheel", wheels["1.0"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "is sglang==1.0, not sglang==2.0" in done.stderr


def test_files_that_do_not_parse_are_named_on_standard_error(
    sqlite: Settings, tmp_path: Path
) -> None:
    files = {"sglang/old.py": "print 'x'\nraise ValueError, 'y'\n", "sglang/a.py": CODE}
    done = call(sqlite, "scan", "--wheel", make_wheel(tmp_path, files, package="sglang"), "--json")
    assert done.returncode == 0
    (result,) = json.loads(done.stdout)
    assert [u["file"] for u in result["unparsed"]] == ["sglang/old.py"]
    assert "not parsed: sglang/old.py: line 1" in done.stderr


def test_an_interrupt_ends_the_scan_and_its_children_and_leaves_nothing(
    sqlite: Settings, tmp_path: Path
) -> None:
    one = "def f{i}(n):\n    raise ValueError(f'bad {{n}} {i}')\n\n\n"
    body = "".join(one.format(i=i) for i in range(500)) + "#" * 100_000
    files = {f"sglang/m{i}.py": body.replace("bad", f"bad {i}") for i in range(60)}
    path = make_wheel(tmp_path, files, package="sglang")
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", "scan", "--wheel", str(path)],
        env=environment(sqlite),
        cwd=PROJECT_ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stderr is not None
        assert "reading" in child.stderr.readline()
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
        assert child.wait(30) == 130
        group = child.pid
    assert said.rstrip().endswith("reprobase scan: stopped.")
    assert "Traceback" not in said
    assert not in_group(group)
    assert json.loads(call(sqlite, "releases", "--json").stdout) == []


def in_group(group: int) -> bool:
    """Whether a process of the group is left, a moment granted for the kernel to take it away."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True
