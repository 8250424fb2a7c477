"""`reprobase diagnose`: exit codes, forms of output, and how little it loads."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.diagnosis.catalog import POINTER, catalog_state, fresh, pointed
from app.loading.index import build, refresh, save
from app.settings import load_settings
from tests.diagnosis.engines import ENGINE
from tests.diagnosis.test_matcher import FULL, traceback

CHILD = (
    "[2026-01-01 00:00:09] SIGQUIT received. signum=None, frame=None."
    " It usually means one child failed."
)
HEAVY = ("torch", "fastapi", "sqlmodel", "sqlalchemy", "pydantic", "numpy", "jinja2", "rapidfuzz")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    save(build(ENGINE, []), tmp_path / "cache" / "index")
    return tmp_path


def given(home: Path, text: str) -> str:
    path = home / "server.log"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("log", "code"),
    [
        (f"ValueError: {FULL}", 1),
        ("ZeroDivisionError: division by zero", 1),
        ("INFO fine", 0),
        (CHILD, 3),
    ],
)
def test_the_exit_code_is_the_verdicts(home: Path, log: str, code: int) -> None:
    assert main(["diagnose", given(home, log)]) == code


def test_json_is_one_document_with_the_contracts_keys(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = traceback("sglang/srt/pool.py", "take", 40, f"ValueError: {FULL}")
    main(["diagnose", given(home, log), "--json"])
    out = capsys.readouterr()
    answer = json.loads(out.out)
    assert out.err == ""
    assert set(answer) >= {"verdict", "rootCause", "findings", "missing", "release", "redacted"}
    assert set(answer["findings"][0]) >= {
        *("entryId", "slug", "errorClass", "message", "template", "params", "package", "frame"),
        *("site", "rank", "process", "firstLine", "lastLine", "count", "role", "evidence"),
        *("confidence", "release", "meaning", "fixes", "hints"),
    }
    assert answer["findings"][0]["frame"] == {
        "file": "sglang/srt/pool.py",
        "function": "take",
        "line": 40,
        "qualifiedFunction": None,
    }


def test_the_text_says_cause_values_and_place(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = traceback("sglang/srt/pool.py", "take", 40, f"ValueError: {FULL}")
    main(["diagnose", given(home, log)])
    text = capsys.readouterr().out
    for words in (
        "Root cause (line 1): ValueError",
        "self.total = 8",
        "sglang/srt/slots.py",
        "reprobase show",
    ):
        assert words in text


def test_a_log_is_read_from_a_pipe(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.is_dir()
    pipe = io.TextIOWrapper(io.BytesIO(f"ValueError: {FULL}".encode()))
    monkeypatch.setattr("sys.stdin", pipe)
    assert main(["diagnose", "-"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/no/such/file.log"], "cannot be read"),
        (["-", "--release", "0.5.23"], "reads like sglang==0.5.23"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert home.is_dir()
    assert main(["diagnose", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_command_loads_nothing_heavy(home: Path) -> None:
    script = (
        "import sys\nfrom app.cli import main\n"
        f"code = main(['diagnose', {given(home, f'ValueError: {FULL}')!r}])\n"
        f"print(code, [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ, check=True
    )
    assert done.stderr.strip() == "1 []"


def test_an_index_counts_as_long_as_the_catalog_is_as_it_was(home: Path) -> None:
    settings = load_settings()
    assert fresh(settings) is not None
    path = refresh(settings)
    assert pointed(settings) == (path, catalog_state(settings))
    assert fresh(settings) == path
    assert len(list((home / "cache" / "index").glob("diagnosis-*.idx"))) == 1
    (settings.index_dir / POINTER).write_text("{")
    assert fresh(settings) is None


def test_a_cache_that_cannot_be_written_is_said_before_the_work_and_costs_no_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = home / "a file"
    nowhere.write_text("")
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(nowhere / "cache"))
    log = given(home, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.20 GiB.")
    assert main(["diagnose", log]) == 1
    out = capsys.readouterr()
    assert "Root cause (line 1): torch.OutOfMemoryError" in out.out
    said = out.err.index("cannot be written")
    assert said < out.err.index("compiling the index")


def test_an_unknown_error_is_told_with_the_release_that_is_still_being_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = load_settings().scan_state_file
    state.parent.mkdir(parents=True)
    state.write_text(
        json.dumps({"release": "sglang==0.5.23", "said": "reading", "pid": os.getpid()})
    )
    assert main(["diagnose", given(home, "ValueError: nobody knows this one")]) == 1
    assert "sglang==0.5.23: the release is still being read" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_log_that_is_not_there_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    for path in (tmp_path / "nope.log", tmp_path):
        assert main(["diagnose", str(path)]) == 2
        assert f"{path} cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()
