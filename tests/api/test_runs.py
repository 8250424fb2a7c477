"""Runs over HTTP: only for the machine itself, streamed to the end, kept under a link."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.db import session
from app.loading.curated import load_curated
from app.main import create_app
from app.settings import load_settings
from tests.web.catalogs import SLUG
from tests.web.conftest import settings_in

HERE = {"origin": "http://127.0.0.1:8000"}
URL = f"/api/errors/{SLUG}/runs"
KDA = "kda-verify-exceeds-scratch-steps"


def client(
    folder: Path, host: str = "127.0.0.1:8000", peer: str = "127.0.0.1", **more: str
) -> TestClient:
    app = create_app(settings_in(folder, **more))
    return TestClient(app, base_url=f"http://{host}", client=(peer, 1), follow_redirects=False)


@pytest.mark.parametrize(
    ("host", "peer", "headers", "said"),
    [
        ("127.0.0.1:8000", "127.0.0.1", {}, "did not come from this site's own pages"),
        ("127.0.0.1:8000", "127.0.0.1", {"origin": "http://evil.example"}, "own pages"),
        ("127.0.0.1:8000", "127.0.0.1", {"origin": "http://127.0.0.1:9"}, "own pages"),
        ("127.0.0.1:8000", "127.0.0.1", {"origin": "null"}, "own pages"),
        ("127.0.0.1:8000", "127.0.0.1", HERE | {"sec-fetch-site": "cross-site"}, "own pages"),
        ("127.0.0.1:8000", "192.0.2.7", HERE, "only for the machine"),
        ("evil.example", "127.0.0.1", {"origin": "http://evil.example"}, "loopback address"),
        ("127.0.0.1.evil.example", "127.0.0.1", {"origin": "http://127.0.0.1.evil.example"},
         "loopback address"),
        ("127.0.0.1:8000", "127.0.0.1", HERE | {"x-forwarded-for": "192.0.2.7"}, "proxy"),
        ("127.0.0.1:8000", "127.0.0.1", HERE | {"forwarded": "for=192.0.2.7"}, "proxy"),
        ("127.0.0.1:8000", "127.0.0.1", HERE | {"x-real-ip": "127.0.0.1"}, "proxy"),
        ("127.0.0.1:8000", "127.0.0.1", HERE | {"via": "1.1 proxy"}, "proxy"),
    ],
)  # fmt: skip
def test_only_the_machine_itself_may_run(
    tmp_path: Path, host: str, peer: str, headers: dict[str, str], said: str
) -> None:
    """Peer, Host, Origin and the absence of a proxy are each needed, for the page as well."""
    with client(tmp_path, host, peer) as site:
        answer = site.post(URL, headers=headers)
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"
        assert said in answer.json()["detail"]
        assert f"`reprobase run {SLUG}`" in answer.json()["detail"]
        page = site.post(f"/errors/{SLUG}/runs", headers=headers)
        assert page.status_code == 403
        assert f"reprobase run {SLUG}" in page.text


@pytest.mark.parametrize("origin", ["http://localhost:8000", "http://[::1]:8000"])
def test_every_loopback_name_will_do(tmp_path: Path, origin: str) -> None:
    host = origin.removeprefix("http://")
    with client(tmp_path, host, "::1") as site:
        assert site.post(URL, headers={"origin": origin, "host": host}).status_code == 404


def test_runs_can_be_switched_off_or_on_for_all(tmp_path: Path) -> None:
    with client(tmp_path, ALLOW_RUNS="never") as site:
        assert "switched off" in site.post(URL, headers=HERE).json()["detail"]
    with client(tmp_path, "kb.example", "192.0.2.7", ALLOW_RUNS="always") as site:
        answer = site.post(URL, headers={"origin": "https://kb.example", "host": "kb.example"})
        assert answer.status_code == 404
        assert site.post(URL, headers={"origin": "https://evil.example"}).status_code == 403


def test_what_cannot_be_run_is_told(site: TestClient) -> None:
    answer = site.post(URL, headers=HERE)
    assert answer.status_code == 422
    assert "has no reproducer" in answer.json()["detail"]
    assert site.post("/api/errors/none/runs", headers=HERE).status_code == 404
    assert site.post(URL, headers=HERE, json={"step": "odd"}).status_code == 400
    assert site.get("/api/runs/none").status_code == 404
    assert site.get("/api/runs/none/events").status_code == 404


def test_a_stored_run_has_every_key_of_the_contract(site: TestClient) -> None:
    run = site.get("/api/runs/aaaaaaaaaaaaaaa1").json()
    assert set(run) >= {
        "id", "entryId", "slug", "step", "subject", "device", "outcome", "reason", "errorClass",
        "message", "site", "matched", "values", "standIns", "substitutes", "guardReached",
        "checks", "expected", "got", "seconds", "startedAt", "torch", "python", "traceback",
        "stdout",
    }  # fmt: skip
    assert run["values"] == {"wanted": 16, "rows": 8}
    assert run["startedAt"] == "2026-11-20T12:00:00Z"


def events_of(text: str) -> list[tuple[str, dict[str, object]]]:
    found = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:  # a sign of life has none
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_the_events_of_a_finished_run_are_its_record(site: TestClient) -> None:
    answer = site.get("/api/runs/aaaaaaaaaaaaaaa1/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    [(name, record)] = events_of(answer.text)
    assert (name, record["id"]) == ("done", "aaaaaaaaaaaaaaa1")


@pytest.mark.wheel
def test_a_run_is_started_streamed_and_kept(tmp_path: Path) -> None:
    """The whole way on a real release: 202, events, and a trigger and a fix that passed."""
    real = load_settings()
    settings = settings_in(tmp_path, CACHE_DIR=str(real.cache_dir))
    with session(settings) as db:
        load_curated(db)
    app = create_app(settings)
    with TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)) as site:
        body = {"step": "both", "subject": "sglang==0.5.23"}
        answer = site.post(f"/api/errors/{KDA}/runs", headers=HERE, json=body)
        assert answer.status_code == 202
        ids = [run["id"] for run in answer.json()["runs"]]
        assert answer.headers["location"] == f"/api/runs/{ids[0]}"
        for run_id, step, outcome in zip(
            ids, ("trigger", "fix"), ("raised", "returned"), strict=True
        ):
            events = events_of(site.get(f"/api/runs/{run_id}/events").text)
            assert events[-1][0] == "done"
            assert "started" in {name for name, _ in events}
            record = site.get(f"/api/runs/{run_id}").json()
            assert record == events[-1][1]
            assert (record["step"], record["outcome"], record["passed"]) == (step, outcome, True)
            assert any(line.startswith("time: 180 s") for line in record["isolation"]), (
                "what gives way to readers has three times the usual minute"
            )
        page = site.get(f"/errors/{KDA}").text
        assert ids[0] in page, "the new run is on the entry's page at once"


@pytest.mark.wheel
def test_two_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """One passes; the other is of a release that does not have the error, and says so."""
    settings = settings_in(tmp_path, CACHE_DIR=str(load_settings().cache_dir))
    with session(settings) as db:
        load_curated(db)
    with TestClient(
        create_app(settings), base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1)
    ) as site:
        ids = []
        for version in ("0.5.23", "0.5.6"):
            body = {"step": "trigger", "subject": f"sglang=={version}"}
            answer = site.post(f"/api/errors/{KDA}/runs", headers=HERE, json=body)
            ids.append(answer.json()["runs"][0]["id"])
        first, second = (events_of(site.get(f"/api/runs/{i}/events").text)[-1][1] for i in ids)
        assert (first["outcome"], first["passed"]) == ("raised", True)
        assert (second["outcome"], second["passed"]) == ("skipped", False)
        assert "does not have this error" in str(second["reason"])
        assert site.get(f"/runs/{ids[1]}").status_code == 200
        wrong = {"subject": "torch==2.0"}
        answer = site.post(f"/api/errors/{KDA}/runs", headers=HERE, json=wrong)
        assert (answer.status_code, "releases of sglang" in answer.text) == (400, True)
