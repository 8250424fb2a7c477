"""A lost database comes back: from `data/`, and from the wheels that were scanned before."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import main
from app.db import close_engines, database_path
from app.settings import load_settings
from tests.web.catalogs import wheel_of


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two toy releases scanned: one from the cache, one from a file elsewhere."""
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'db' / 'catalog.db'}")
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    wheel_of(tmp_path / "cache" / "wheels" / "sglang", "1.0")
    assert main(["scan", "sglang==1.0"]) == 0
    assert main(["scan", "--wheel", str(wheel_of(tmp_path / "mine", "2.0"))]) == 0
    yield tmp_path
    close_engines()


def lose() -> None:
    close_engines()
    path = database_path(load_settings())
    assert path is not None
    for file in path.parent.glob("catalog.db*"):
        file.unlink()


def releases(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(["releases", "--json"]) == 0
    return [row["version"] for row in json.loads(capsys.readouterr().out)]


def test_load_scans_again_what_the_database_lost(capsys: pytest.CaptureFixture[str]) -> None:
    lose()
    capsys.readouterr()
    assert main(["load"]) == 0
    said = capsys.readouterr().err
    assert "lacks 2 releases scanned before: sglang==1.0, sglang==2.0" in said
    assert "[1/2] sglang==1.0: " in said
    assert "[2/2] sglang==2.0: " in said
    assert "Runs made on this machine" in said
    assert "cannot be brought back" in said
    assert releases(capsys) == ["1.0", "2.0"]
    assert main(["load"]) == 0
    assert capsys.readouterr().err == "", "nothing is lost any more"


def test_a_wheel_that_is_gone_too_is_told_and_the_rest_comes_back(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lose()
    [damaged] = (world / "cache" / "wheels" / "sglang").glob("*.whl")
    [elsewhere] = (world / "mine").glob("*.whl")
    elsewhere.write_bytes(b"no wheel")
    capsys.readouterr()
    assert main(["load"]) == 3
    said = capsys.readouterr().err
    assert "sglang==2.0 could not be brought back: " in said
    assert releases(capsys) == ["1.0"]
    assert damaged.is_file()


def test_what_was_removed_does_not_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases", "--remove", "sglang==1.0"]) == 0
    lose()
    assert main(["load"]) == 0
    assert releases(capsys) == ["2.0"]


def test_another_database_on_the_same_cache_is_left_alone(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{world / 'other.db'}")
    assert main(["load"]) == 0
    assert releases(capsys) == []
    assert main(["load"]) == 0


def test_a_catalog_older_than_the_list_is_put_on_it(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "cache" / "scanned.json").unlink()
    assert main(["load"]) == 0
    lose()
    (world / "cache" / "wheels" / "sglang" / next((world / "mine").glob("*.whl")).name).write_bytes(
        next((world / "mine").glob("*.whl")).read_bytes()
    )
    assert main(["load"]) == 0
    assert releases(capsys) == ["1.0", "2.0"]
