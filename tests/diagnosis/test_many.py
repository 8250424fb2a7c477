"""Several logs, folders and archives at once: each is read, and all are told together."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from app.cli import main
from app.diagnosis.forms import is_one_log
from app.diagnosis.logs import find_logs
from app.diagnosis.many import SENT, Answer, Named, Question, pieces
from app.diagnosis.result import Diagnosis
from app.loading.index import build, save
from app.services.many_logs import answers_of
from app.spread import ProcessSpread
from tests.diagnosis.engines import ENGINE
from tests.diagnosis.test_matcher import FULL

KNOWN = f"ValueError: {FULL}\n"
CLEAN = "INFO fine\n"
HANG = (
    "[rank1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9) ran for 600029 ms\n"
)
BARRIER = "[rank1] RuntimeError: Rank 0 failed to pass monitoredBarrier in 600000 ms\n"
LOGS = {"a/known.log": KNOWN, "a/clean.log": CLEAN, "b/known.log": KNOWN, "b/barrier.log": BARRIER}


def tar(path: Path, logs: dict[str, str] = LOGS, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # the mode is a parameter
        for name, text in logs.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def folder(path: Path) -> Path:
    for name, text in LOGS.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("a")
        for name, text in LOGS.items():
            archive.writestr(name, text)
    return path


def zst(path: Path) -> Path:
    path.write_bytes(zstandard.compress(tar(path.with_suffix(".plain")).read_bytes()))
    return path


FORMS: dict[str, Callable[[Path], Path]] = {
    "folder": folder,
    "all.tar": tar,
    "all.tar.gz": lambda path: tar(path, mode="w:gz"),
    "all.tar.zst": zst,
    "all.zip": zipped,
    "misnamed.log": zipped,
}


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Callable[..., dict[str, Answer]]]:
    """Ask two processes about some paths."""
    index = save(build(ENGINE, []), tmp_path / "index")
    spread = ProcessSpread(2)

    def asked(*paths: Path) -> dict[str, Answer]:
        return dict(answers_of(paths, index, spread).answers)

    yield asked
    spread.close()


def verdicts(answers: dict[str, Answer]) -> dict[str, str]:
    return {name: a.verdict if isinstance(a, Diagnosis) else a for name, a in answers.items()}


@pytest.mark.parametrize("form", FORMS)
def test_every_log_of_a_folder_or_an_archive_is_read(
    form: str, tmp_path: Path, ask: Callable[..., dict[str, Answer]]
) -> None:
    given = FORMS[form](tmp_path / form)
    assert not is_one_log(given)
    found = verdicts(ask(given))
    assert found == {
        f"{given}/a/known.log": "known", f"{given}/a/clean.log": "clean",
        f"{given}/b/known.log": "known", f"{given}/b/barrier.log": "incomplete",
    }  # fmt: skip


def test_packed_logs_and_archives_in_a_folder_are_read_too(
    tmp_path: Path, ask: Callable[..., dict[str, Answer]]
) -> None:
    given = tmp_path / "logs"
    given.mkdir()
    (given / "node0.log.gz").write_bytes(gzip.compress(KNOWN.encode()))
    tar(given / "node1.tgz", {"x.log": CLEAN}, "w:gz")
    assert is_one_log(given / "node0.log.gz")
    assert verdicts(ask(given)) == {
        f"{given}/node0.log.gz": "known", f"{given}/node1.tgz/x.log": "clean",
    }  # fmt: skip


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    tmp_path: Path, ask: Callable[..., dict[str, Answer]]
) -> None:
    picture = tmp_path / "picture.log"
    picture.write_bytes(bytes(range(256)) * 40)
    cut = tar(tmp_path / "cut.tar", {"one.log": KNOWN, "two.log": CLEAN * 10_000})
    cut.write_bytes(cut.read_bytes()[:3000])
    good = tmp_path / "good.log"
    good.write_text(KNOWN)
    found = verdicts(ask(picture, cut, tmp_path / "not-there", good))
    assert found[str(good)] == "known"
    assert found[f"{cut}/one.log"] == "known"
    assert "no text" in found[str(picture)]
    assert "cannot be read" in found[str(tmp_path / "not-there")]
    assert any("to its end" in said for name, said in found.items() if name.startswith(str(cut)))


def test_an_archive_inside_an_archive_is_named_and_not_read_as_a_log(
    tmp_path: Path, ask: Callable[..., dict[str, Answer]]
) -> None:
    inner = [
        tar(tmp_path / "a.tar"), tar(tmp_path / "b.tgz", mode="w:gz"), zst(tmp_path / "c.tzst"),
        zipped(tmp_path / "d.zip"),
    ]  # fmt: skip
    outer = {"tar": tmp_path / "outer.tar", "zip": tmp_path / "outer.zip"}
    with tarfile.open(outer["tar"], "w") as tars, zipfile.ZipFile(outer["zip"], "w") as zips:
        for path in inner:
            tars.add(path, path.name)
            zips.write(path, path.name)
        zips.writestr("known.log.gz", gzip.compress(KNOWN.encode()))
    found = verdicts(ask(*outer.values()))
    assert found.pop(f"{outer['zip']}/known.log.gz") == "known"
    assert len(found) == 8
    assert all("archive inside an archive" in said for said in found.values()), found


def test_a_large_log_of_an_archive_is_read_as_a_stream(
    tmp_path: Path, ask: Callable[..., dict[str, Answer]]
) -> None:
    text = CLEAN * (SENT // len(CLEAN) + 1000) + KNOWN
    given = tar(tmp_path / "large.tar.gz", {"large.log": text, "small.log": CLEAN}, "w:gz")
    assert verdicts(ask(given)) == {
        f"{given}/large.log": "known", f"{given}/small.log": "clean",
    }  # fmt: skip


def test_what_travels_is_small_and_carries_its_bytes(tmp_path: Path) -> None:
    """Another machine has not our disk: small logs go with their bytes, large ones stay."""
    (tmp_path / "small.log").write_text(KNOWN)
    (tmp_path / "large.log").write_text(CLEAN * (SENT // len(CLEAN) + 1000))
    here: dict[str, Answer] = {}
    question = Question(build(ENGINE, []), "digest")
    dealt = list(pieces([tmp_path], question, here=False, answered=here.__setitem__))
    assert dealt == [(Named(str(tmp_path / "small.log"), KNOWN.encode()),)]
    assert list(here) == [str(tmp_path / "large.log")]


def test_names_out_of_an_archive_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    given = tar(tmp_path / "odd.tar", {"a\x1b[2Jb.log": CLEAN})
    assert [log.name for log in find_logs([given])] == [f"{given}/a?[2Jb.log"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPROBASE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("REPROBASE_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    save(build(ENGINE, []), tmp_path / "cache" / "index")
    return tmp_path


def test_causes_are_told_once_with_their_logs_and_echoes_behind(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node that waited at a barrier is not the cause where another node has one."""
    given = folder(home / "logs")
    (given / "a/alone.log").write_text(HANG)
    assert main(["diagnose", str(given), "--json"]) == 1
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    first = answer["causes"][0]
    assert (first["role"], first["errorClass"]) == ("root-cause", "ValueError")
    assert first["logs"] == [f"{given}/a/known.log", f"{given}/b/known.log"]
    assert [(cause["role"], cause["logs"]) for cause in answer["causes"][1:]] == [
        ("echo", [f"{given}/a/alone.log"])
    ]
    assert answer["verdict"] == "known"
    assert [log["log"] for log in answer["logs"]] == sorted(
        f"{given}/{name}" for name in (*LOGS, "a/alone.log")
    )
    assert main(["diagnose", str(given)]) == 1
    text = capsys.readouterr().out
    assert text.startswith("5 logs: 2 with a known cause")
    assert text.count("Root cause in ") == 1


@pytest.mark.parametrize(
    ("logs", "code"),
    [({"a": CLEAN, "b": CLEAN}, 0), ({"a": CLEAN, "b": "\x00\x01\x02\x03" * 99}, 3)],
)
def test_the_exit_code_is_that_of_the_most_telling_log(
    home: Path, logs: dict[str, str], code: int
) -> None:
    assert main(["diagnose", str(tar(home / "all.tar", logs))]) == code


def test_wrong_use_is_refused_with_a_sentence(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "one.log").write_text(CLEAN)
    assert main(["diagnose", "-", str(home / "one.log")]) == 2
    assert "by itself" in capsys.readouterr().err
    assert main(["diagnose", str(home / "one.log"), "--jobs", "0"]) == 2
    assert main(["diagnose", str(home / "one.log"), str(home / "none.log")]) == 2


def test_a_name_that_an_archive_holds_twice_has_two_answers(tmp_path: Path) -> None:
    path = tmp_path / "logs.tar"
    with tarfile.open(path, "w") as archive:
        for text in (KNOWN, CLEAN):
            info = tarfile.TarInfo("a.log")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    told: dict[str, Answer] = {}
    question = Question(index=tmp_path / "none", digest="")
    dealt = list(pieces([path], question, here=True, answered=told.__setitem__))
    assert [log.name for piece in dealt for log in piece] == [f"{path}/a.log", f"{path}/a.log (2)"]
    assert told == {}
