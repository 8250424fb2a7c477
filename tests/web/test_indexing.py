"""Indexes of a large catalog are made by a child; requests are answered meanwhile, then better."""

import time
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.db import session, touch
from app.main import create_app
from app.services import indexing
from app.services.indexing import all_made
from app.settings import Settings
from tests.web.catalogs import SLUG, TEMPLATE, fill


@pytest.fixture
def site(empty: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A site over a catalog that counts as large, none of whose indexes is made."""
    fill(empty)
    monkeypatch.setattr(indexing, "SMALL", 0)
    with TestClient(create_app(empty), follow_redirects=False) as client:
        yield client


def wait(settings: Settings) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with session(settings) as db:
            if all_made(db, settings):
                time.sleep(0.5)  # the child's last word is a new revision
                return
        time.sleep(0.2)
    pytest.fail("no child made the indexes")


def test_requests_do_without_what_a_child_is_making(site: TestClient, empty: Settings) -> None:
    """Nothing is built in the process that answers, and what was missing appears by itself."""
    record = site.get(f"/api/errors/{SLUG}").json()["record"]
    assert record["related"] == []
    found = site.get("/api/errors", params={"q": "rows needs"}).json()
    assert [row["errorMessage"] for row in found["records"]] == [TEMPLATE], "by its words alone"
    with session(empty) as db:
        assert not all_made(db, empty)
    wait(empty)
    assert site.get(f"/api/errors/{SLUG}").json()["record"]["related"] != []
    pasted = site.get("/api/errors", params={"q": "needs 16 rows, has 8"}).json()
    assert [row["errorMessage"] for row in pasted["records"]][:1] == [TEMPLATE]


def test_the_old_indexes_serve_until_the_new_ones_are_there(
    site: TestClient, empty: Settings
) -> None:
    site.get(f"/api/errors/{SLUG}")
    wait(empty)
    before = site.get(f"/api/errors/{SLUG}").json()["record"]["related"]
    query = {"q": "needs 16 rows, has 8"}
    hits = site.get("/api/errors", params=query).json()["records"]
    log = site.post("/api/diagnose", content=b"ValueError: needs 16 rows, has 8\n").json()
    with session(empty) as db:
        touch(db)
    time.sleep(0.2)
    began = time.monotonic()
    assert site.get(f"/api/errors/{SLUG}").json()["record"]["related"] == before
    assert site.get("/api/errors", params=query).json()["records"] == hits
    again = site.post("/api/diagnose", content=b"ValueError: needs 16 rows, has 8\n").json()
    assert again["findings"] == log["findings"]
    with session(empty) as db:
        assert not all_made(db, empty), "all of that was answered from the old ones"
    assert time.monotonic() - began < 2
    wait(empty)


def test_the_first_diagnosis_waits_for_the_child_and_only_it_waits(site: TestClient) -> None:
    answer = site.post("/api/diagnose", content=b"ValueError: needs 16 rows, has 8\n")
    assert answer.status_code == 200
    assert answer.json()["findings"]
