"""A reproducer as one file: its header, its modules, and a run where nothing of ours is."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from starlette.testclient import TestClient

from app.db import session
from app.loading.curated import load_curated
from app.main import create_app
from app.services.single_file import pins
from app.settings import PROJECT_ROOT, load_settings
from tests.web.catalogs import SLUG
from tests.web.conftest import settings_in

PHASE = "unknown-speculative-phase"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a curated error, from a site that has scanned nothing."""
    real = load_settings()
    settings = settings_in(tmp_path_factory.mktemp("single"), CACHE_DIR=str(real.cache_dir))
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        with session(settings) as db:
            load_curated(db)
        answer = client.get(f"/errors/{PHASE}.py")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/x-python")
    return answer.text


def loaded(path: Path, text: str) -> ModuleType:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("downloaded", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_error_without_a_reproducer_has_no_file(site: TestClient) -> None:
    answer = site.get(f"/errors/{SLUG}.py")
    assert answer.status_code == 404
    assert "no hand-written reproducer" in answer.text


@pytest.mark.wheel
def test_the_header_is_that_of_pep_723_with_the_versions_that_are_installed(text: str) -> None:
    block = text.partition("# /// script\n")[2].partition("# ///\n")[0]
    header = tomllib.loads("\n".join(line.removeprefix("#")[1:] for line in block.splitlines()))
    assert header["requires-python"] == ">=3.11"
    assert header["dependencies"] == list(pins())
    for pin in header["dependencies"]:
        name, _, number = pin.partition("==")
        assert importlib.metadata.version(name).partition("+")[0] == number
    assert any(pin.startswith("torch==") for pin in pins())


@pytest.mark.wheel
def test_the_modules_in_it_are_ours_to_the_byte(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path))
    folder = loaded(tmp_path / "file.py", text).unpack()
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*.py")}
    assert "reproducers/errors/unknown_speculative_phase.py" in files
    assert "app/runs/sandbox.py" in files
    for name, path in files.items():
        got = path.read_text(encoding="utf-8")
        assert got.strip() in ("", (PROJECT_ROOT / name).read_text(encoding="utf-8").strip()), name
    assert not [name for name in files if name.startswith(("app/web", "app/db", "app/models"))]


@pytest.mark.wheel
def test_what_is_missing_is_named(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path))
    module = loaded(tmp_path / "file.py", text.replace('"torch==', '"no-such-torch=='))
    assert [pin.partition("==")[0] for pin in module.missing()] == ["no-such-torch"]
    monkeypatch.setenv("REPROBASE_SINGLE_FILE", "1")
    with pytest.raises(SystemExit, match="pip did not install no-such-torch"):
        module.with_dependencies()


def link(source: str | Path, target: str | Path) -> None:
    """The same file at another place; a copy where that is another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the dependencies, and nothing of Reprobase."""
    folder = tmp_path_factory.mktemp("stranger") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [there] = (folder / "lib").glob("python*/site-packages")
    installed = Path(importlib.util.find_spec("torch").submodule_search_locations[0]).parent  # type: ignore[union-attr,index]  # torch is a package
    for path in installed.iterdir():
        if "reprobase" in path.name or path.suffix == ".pth" or path.name == "__pycache__":
            continue
        if path.is_dir():
            shutil.copytree(path, there / path.name, copy_function=link, dirs_exist_ok=True)
        else:
            link(path, there / path.name)
    python = folder / "bin" / "python"
    asked = [python, "-c", "import torch; import reproducers"]
    done = subprocess.run(asked, check=False, capture_output=True, cwd=folder)
    assert b"No module named 'reproducers'" in done.stderr
    return python


@pytest.mark.wheel
def test_it_runs_where_nothing_of_ours_is_installed(
    text: str, stranger: Path, tmp_path: Path
) -> None:
    """Trigger red, fix green, exit code 0; a release that it does not know is told."""
    file = tmp_path / f"{PHASE}.py"
    file.write_text(text, encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "REPROBASE_CACHE_DIR": str(load_settings().cache_dir),
    }
    done = subprocess.run(
        [stranger, file], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Trigger on sglang==" in done.stdout
    assert ": raises" in done.stdout
    assert "ValueError: Unknown speculative phase: " in done.stdout
    assert "Fix on sglang==" in done.stdout
    assert ": returns" in done.stdout
    odd = subprocess.run(
        [stranger, file, "--on", "sglang==0.0.1"],
        capture_output=True, text=True, cwd=tmp_path, env=environment, check=False,
    )  # fmt: skip
    assert (odd.returncode, "does not know where" in odd.stderr) == (2, True)
