"""What the site does before anything is scanned, and with a catalog that cannot be read."""

import json
import os
import sqlite3
import time

import pytest
from sqlmodel import select
from starlette.testclient import TestClient

from app import db as database
from app.commands.serve import prepare
from app.db import close_engines, session
from app.exceptions import UnavailableError
from app.main import create_app
from app.models import Entry, Run
from app.settings import Settings
from tests.web.catalogs import SLUG, fill


def test_curated_entries_are_there_before_any_release_is_scanned(empty: Settings) -> None:
    prepare(empty)
    with TestClient(create_app(empty)) as site:
        assert site.get("/readyz").status_code == 200
        for old in (
            "018e342afa37fa9e", "6d46981c2eb2f8c3", "12f769e13fc97f9a", "54919db54a9458bf",
        ):  # fmt: skip
            answer = site.get(f"/api/errors/{old}", follow_redirects=False)
            assert answer.status_code == 308
            assert site.get(answer.headers["location"]).json()["record"]["explained"] is True
        record = site.get("/api/errors/stale-speculative-width").json()["record"]
        assert record["package"] == "sglang"
        for path in ("/", "/errors", "/families", "/releases", "/feed.atom", "/llms.txt"):
            assert site.get(path).status_code == 200, path


def test_an_empty_catalog_says_so(empty: Settings) -> None:
    with TestClient(create_app(empty)) as site:
        answer = site.get("/readyz")
        assert (answer.status_code, "reprobase load" in answer.text) == (503, True)
        assert site.get("/api/errors").json()["records"] == []
        assert "No release is scanned yet" in site.get("/releases").text


def test_while_the_first_scan_goes_on_every_page_that_lacks_something_says_so(
    empty: Settings,
) -> None:
    """And it says so no longer once the scan is done, nor gives a page of then for one of now."""
    state = {"release": "sglang==2.0", "said": "Scanning sglang==2.0: 40 %", "pid": os.getpid()}
    empty.scan_state_file.parent.mkdir(parents=True)
    empty.scan_state_file.write_text(json.dumps(state))
    client = TestClient(create_app(empty), base_url="http://127.0.0.1", client=("127.0.0.1", 1))
    with client as site:
        for path in ("/", "/errors", "/errors?q=rows", "/releases"):
            for _ in range(2):
                page = site.get(path)
                assert (page.status_code, state["said"] in page.text) == (200, True), path
        for path in (f"/errors/{SLUG}", f"/api/errors/{SLUG}", "/releases/sglang/2.0"):
            told = site.get(path)
            assert told.status_code == 404
            assert f"still being filled ({state['said']})" in told.text, path
        assert site.get("/api/status").json()["scanning"]["said"] == state["said"]
        fill(empty, versions=("2.0",))
        empty.scan_state_file.write_text(json.dumps(state | {"done": True}))
        time.sleep(0.2)
        for path in ("/", "/errors", "/releases", f"/errors/{SLUG}", f"/api/errors/{SLUG}"):
            page = site.get(path)
            assert (page.status_code, "Scanning" in page.text) == (200, False), path
        assert "still being filled" not in site.get("/errors/nothing").text


def test_a_catalog_of_another_version_is_rebuilt_and_keeps_its_runs(
    empty: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    fill(empty, versions=("1.0",))
    with session(empty) as db:
        database.write_meta(db, "schema", "of another version")
        runs = len(db.exec(select(Run)).all())
    close_engines()
    with session(empty) as db:
        assert len(db.exec(select(Run)).all()) == runs == 3
        assert db.exec(select(Entry)).all() == []
    assert "is of another version" in caplog.text


def test_a_damaged_database_is_told_with_what_to_do(empty: Settings) -> None:
    path = database.database_path(empty)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"this is no database, it only looks like one" * 100)
    with pytest.raises(UnavailableError, match="Move the file away"):
        create_app(empty)


def test_tables_of_somebody_else_are_left_alone(empty: Settings) -> None:
    path = database.database_path(empty)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE run (distance REAL)")
        other.execute("INSERT INTO run VALUES (42.2)")
    with pytest.raises(UnavailableError, match="did not make"):
        create_app(empty)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT distance FROM run").fetchall() == [(42.2,)]


def test_a_wheel_that_is_gone_or_damaged_leaves_the_page_without_source(empty: Settings) -> None:
    fill(empty, versions=("2.0",))
    [wheel] = (empty.wheels_dir / "sglang").glob("*.whl")
    wheel.write_bytes(b"PK, but no wheel")
    for _ in ("damaged", "gone"):
        with TestClient(create_app(empty)) as site:
            answer = site.get(f"/api/errors/{SLUG}")
            assert answer.status_code == 200
            assert answer.json()["record"]["sourceCode"] is None
            assert answer.json()["record"]["filePath"] == "python/sglang/srt/table.py"
        wheel.unlink(missing_ok=True)


def test_runs_of_a_site_that_was_stopped_are_ended(empty: Settings) -> None:
    fill(empty, versions=())
    with session(empty) as db:
        db.add(
            Run(id="b" * 16, entry_id="x", step="trigger", subject="sglang==1.0", state="running")
        )
    prepare(empty)
    with session(empty) as db:
        run = db.get(Run, "b" * 16)
        assert run is not None
        assert (run.state, run.outcome) == ("done", "died")
        assert "stopped" in str(run.reason)
