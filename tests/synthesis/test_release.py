"""Sites of a tiny release: what is found, what is not, and why."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select
from starlette.testclient import TestClient

from app.cli import main
from app.db import session
from app.loading.releases import load_release
from app.main import create_app
from app.models import Entry, Run
from app.runs import execute, run_row
from app.runs.found import read_found, store_path
from app.scanner.release import scan_wheel
from app.services.found import load_found
from app.services.listing import ListQuery, list_errors
from app.services.synthesized import again_request, synthesized_page
from app.services.synthesizing import Wish, synthesize_release
from app.settings import Settings, load_settings
from app.wheels import Wheel, open_wheel
from reproducers.protocol import SYNTHESIS_REASONS, Step
from tests.synthesis.engine import CHECKS, FILES
from tests.wheels.making import make_wheel

Found = dict[str, Any]


CHANGED = [
    ("asked for", "legal value"),
    ("no such name:", "legal value"),
    ("three names need decoding", ""),
    ("q has", ""),
    ("out is", ""),
    ("ratio", "legal value"),
    ("fast takes no", "legal value"),
    ("TINY_MODE is strict", ""),
    ("a wrong kind", "legal value"),
    ("the copy failed", "dropped"),
    ("a limit and a chunk of 16 are needed", "legal value"),
    ("the file's next check", "legal value"),
]


@pytest.mark.parametrize(("words", "rank"), CHANGED)
def test_trigger_and_fix_are_found_and_executed(
    found: dict[str, Found], words: str, rank: str
) -> None:
    result = found[words]
    assert result["level"] == "function", result
    assert result["trigger"]["message"].startswith(words.rstrip(":"))
    assert result["fix"] is not None, result
    assert not rank or result["fix"]["rank"] == rank


def test_a_closure_and_a_caught_error_are_reached(found: dict[str, Found]) -> None:
    inner = next(r for r in found.values() if r["function"] == "outer.inner")
    assert inner["trigger"] is not None
    assert found["no number"]["trigger"] is not None


def test_values_are_of_the_annotated_kind(found: dict[str, Found]) -> None:
    values = found["fast takes no"]["trigger"]["values"]
    assert values["backend"] == "fast" if "backend" in values else True
    assert type(values["steps"]) is int
    assert values["steps"] % 2 == 1
    name = found["no such name:"]["trigger"]["values"].get("name", "name")
    assert isinstance(name, str)


@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        ("not here", {"unconditional"}),
        ("cannot be", {"not-reached"}),
        ("after the end", {"too-slow"}),
        ("after a crash", {"died"}),
        ("not in a function", {"module-level"}),
    ],
)
def test_what_is_not_found_has_a_reason(
    found: dict[str, Found], words: str, reasons: set[str]
) -> None:
    assert found[words]["reason"] in reasons, found[words]


def test_what_no_run_may_do_is_not_done_and_said(found: dict[str, Found]) -> None:
    result = found["after a process"]
    assert result["trigger"]["replaced"] == ["call:subprocess.run"]
    assert result["reason"] == "unconditional"


def test_every_reason_has_words(found: dict[str, Found]) -> None:
    given = {result["reason"] for result in found.values() if result["reason"]}
    assert len(given) >= 4
    assert given <= set(SYNTHESIS_REASONS)


def test_the_same_seed_finds_the_same(
    found: dict[str, Found], settings: Settings, wheel: Wheel
) -> None:
    wish = Wish(paths=("tiny/checks.py",), sample=5, seed=3, again=True)
    again = synthesize_release(wheel, wish, settings, jobs=1)
    by_site = {r["siteId"]: r for r in found.values()}
    assert len(again) == 5
    for result in again:
        first = by_site[result["siteId"]]
        for key in ("level", "reason", "trigger", "fix"):
            assert result[key] == first[key], (result["template"], key)


def test_what_is_known_is_not_looked_at_again(
    found: dict[str, Found], settings: Settings, wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.synthesizing.synthesize", None)  # nothing may be asked
    results = synthesize_release(wheel, Wish(), settings)
    assert len(results) == len(read_found(settings, "tiny", "1.0")) >= len(found)


def test_the_next_release_begins_with_what_this_one_showed(
    found: dict[str, Found], settings: Settings
) -> None:
    moved = {**FILES, "tiny/checks.py": "\n\n" + CHECKS}
    next_wheel = make_wheel(settings.wheels_dir / "tiny", moved, package="tiny", version="1.1")
    wish = Wish(paths=("tiny/checks.py",))
    results = synthesize_release(open_wheel(next_wheel), wish, settings, jobs=1)
    same = [r for r in results if r.get("reused")]
    assert len(same) > 0.8 * len(results)
    for result in results:
        first = next(f for f in found.values() if f["template"] == result["template"])
        assert bool(result["trigger"]) == bool(first["trigger"]), result


def test_results_are_kept_when_the_catalog_is_rebuilt(
    found: dict[str, Found], settings: Settings, wheel: Wheel
) -> None:
    scanned = scan_wheel(wheel)
    other = replace(settings, database_url=f"sqlite:///{settings.cache_dir / 'other.db'}")
    for database in (settings, other):
        with session(database) as db:
            load_release(db, scanned)
            assert load_found(db, settings) > 2 * len(CHANGED) - 1
            assert load_found(db, settings) == 0
            wanted = select(Run).where(col(Run.kind) == "synthesized", col(Run.step) == "fix")
            assert all(r.passed and r.guard_reached for r in db.exec(wanted))
    page = None
    with session(other) as db:
        entry_id = str(found["ratio"]["entryId"])
        executed = list_errors(db, ListQuery(package="tiny", status="executed"), settings=settings)
        assert entry_id in {r.id for r in executed.records}
        page = synthesized_page(db, db.get_one(Entry, entry_id), settings)
    assert page is not None
    assert "from tiny.checks import chosen" in page.trigger
    assert "chosen(" in page.fix
    assert page.trigger != page.fix


@pytest.mark.parametrize("step", ["trigger", "fix"])
def test_what_was_found_runs_again(
    found: dict[str, Found], settings: Settings, wheel: Wheel, step: Step
) -> None:
    with session(settings) as db:
        load_release(db, scan_wheel(wheel))
        entry = db.get_one(Entry, str(found["asked for"]["entryId"]))
        request = again_request(db, entry, "tiny==1.0", step, settings)
    row = run_row(execute(request), request, entry_id=entry.id, kind="synthesized")
    assert row.passed, (row.outcome, row.reason)
    assert row.kind == "synthesized"


def test_the_store_is_plain_sqlite_with_one_document_a_site(
    found: dict[str, Found], settings: Settings
) -> None:
    with sqlite3.connect(store_path(settings)) as db:
        rows = db.execute("SELECT content FROM found WHERE version = '1.0'").fetchall()
    assert len(rows) >= len(found)
    assert all(json.loads(text)["siteId"] for (text,) in rows)


def test_without_its_check_a_trigger_does_not_raise_there(
    found: dict[str, Found], tmp_path: Path
) -> None:
    lines = CHECKS.split("\n")
    triggered = [r for r in found.values() if r["trigger"] and r["file"] == "tiny/checks.py"]
    for result in triggered:
        at = int(result["line"]) - 1
        text = lines[at]
        indent = len(text) - len(text.lstrip())
        lines[at] = f"{text[:indent]}if 0: {text[indent:]}"
    root = tmp_path / "copy"  # readable by the user behind the wall, as the test's folder is not
    package = root / "tiny"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "checks.py").write_text("\n".join(lines))
    ended = again(root, triggered)
    assert len(ended) == len(triggered) > 8
    assert not [e for e in ended if e["trigger"] == "hit"]


def again(root: Path, results: list[Found]) -> list[Found]:
    """How the triggers of some results end on an unpacked release."""
    from app.runs.synthesizing import run_again  # noqa: PLC0415  # beside its only use
    from reproducers.protocol import Subject  # noqa: PLC0415  # likewise

    subject = Subject(name="tiny==1.0", root=str(root), package="tiny", version="1.0")
    return list(run_again(subject, results).values())


def test_the_page_shows_trigger_and_fix_and_can_run_them(
    found: dict[str, Found], settings: Settings, wheel: Wheel
) -> None:
    with session(settings) as db:
        load_release(db, scan_wheel(wheel))
        load_found(db, settings)
    client = TestClient(create_app(settings))
    page = client.get(f"/errors/{found['ratio']['entryId']}").text
    assert "Found by the program" in page
    assert "Legal value" in page
    assert "reprobase run" in page
    page = client.get(f"/errors/{found['cannot be']['entryId']}").text
    assert "not-reached" in page
    record = client.get(f"/api/errors/{found['ratio']['entryId']}").json()["record"]
    assert record["reproducer"]["kind"] == "synthesized"
    assert record["synthesized"]["fixRank"] == "legal value"


@pytest.fixture
def at_home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line works on the module's own cache and database."""
    for name in (
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "REPROBASE_CACHE_DIR",
        "REPROBASE_DATABASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(settings.cache_dir.parents[1]))
    assert load_settings() == settings


@pytest.mark.usefixtures("at_home")
def test_the_command_gives_every_site_failures_included(
    found: dict[str, Found], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["synthesize", "tiny==1.0", "--path", "tiny/*", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert len(results) >= len(found)
    keys = {"siteId", "entryId", "file", "function", "line", "level", "trigger", "fix", "reason"}
    assert all(keys | {"seconds"} <= set(r) for r in results)
    assert main(["synthesize", "tiny==1.0", "--path", "nowhere/*"]) == 3
    assert main(["synthesize", "tiny==1.0", "--limit", "0"]) == 2


@pytest.mark.usefixtures("at_home")
def test_the_run_command_takes_an_id_of_what_was_found(
    found: dict[str, Found], settings: Settings, wheel: Wheel, capsys: pytest.CaptureFixture[str]
) -> None:
    with session(settings) as db:
        load_release(db, scan_wheel(wheel))
    assert main(["run", str(found["asked for"]["entryId"])]) == 0
    out = capsys.readouterr().out
    assert "pass  trigger" in out
    assert "pass  fix" in out
    assert main(["run", str(found["cannot be"]["entryId"])]) == 3


def test_the_list_is_filtered_by_evidence_and_by_reason(
    found: dict[str, Found], settings: Settings, wheel: Wheel
) -> None:
    """In the pages and in the JSON API: what was found, what was not, and why not."""
    with session(settings) as db:
        load_release(db, scan_wheel(wheel))
        load_found(db, settings)
    client = TestClient(create_app(settings))

    def listed(evidence: str) -> dict[str, str | None]:
        asked: dict[str, str | int] = {"package": "tiny", "evidence": evidence, "limit": 200}
        records = client.get("/api/errors", params=asked).json()["records"]
        return {r["id"]: r["noEvidence"] for r in records}

    every = {str(r["entryId"]) for r in found.values()}
    shown, without = listed("synthesized"), listed("none")
    assert set(shown) == {str(r["entryId"]) for r in found.values() if r["fix"]}
    assert set(shown.values()) == {None}
    assert set(without) == every - set(shown)
    assert listed("written") == listed("launch") == listed("not-tried") == {}
    unreached = str(found["cannot be"]["entryId"])
    assert listed("not-reached")[unreached] == without[unreached] == "not-reached"
    assert set(listed("died")) == {str(found["after a crash"]["entryId"])}
    page = client.get("/errors", params={"package": "tiny", "evidence": "not-reached"}).text
    assert f"/errors/{unreached}" in page
    assert "Why it was not executed" in page
    wrong = client.get("/api/errors", params={"evidence": "synthesised"})
    assert wrong.status_code in (400, 422)
    assert "synthesized" in wrong.text


def test_an_entry_that_was_never_looked_at_says_so(settings: Settings, wheel: Wheel) -> None:
    with session(settings) as db:
        load_release(db, scan_wheel(wheel))
    other = replace(settings, cache_dir=settings.cache_dir / "empty")
    client = TestClient(create_app(other))
    entry_id = client.get("/api/errors", params={"q": "asked for"}).json()["records"][0]["id"]
    record = client.get(f"/api/errors/{entry_id}").json()["record"]
    assert record["synthesized"]["reason"] == "not-tried"
