"""The JSON of errors: complete, addressable by every id, filtered, paged, cached by content."""

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.scanner.identity import entry_id
from app.settings import Settings
from tests.web.catalogs import ENTRY_ID, NEW_WORDS, OLD_ID, OLD_WORDS, SLUG, TEMPLATE

KEYS = {
    "id", "aliases", "package", "repo", "slug", "errorCode", "errorMessage", "messagePattern",
    "holes", "errorType", "errorClass", "httpStatus", "severity", "filePath", "lineNumber",
    "function", "sourceCode", "sourceCodeStart", "sourceCodeEnd", "githubUrl", "guards",
    "documentation", "triggerScenarios", "commonSituations", "solutions", "exampleFix",
    "handlingStrategy", "validationCode", "typeGuard", "tryCatchPattern", "preventionTips",
    "notThisIf", "corrections", "tags", "backgroundTag", "related", "history", "evidence",
    "reproducer", "explained", "sourceLicense", "analyzedRelease", "analyzedSha", "analyzedAt",
    "schemaVersion",
}  # fmt: skip


def test_the_record_has_every_key_of_the_contract(site: TestClient) -> None:
    document = site.get(f"/api/errors/{SLUG}").json()
    assert set(document) == {"record", "datasetVersion"}
    assert set(document["record"]) >= KEYS


def test_the_record_says_where_the_error_is_in_the_newest_release(site: TestClient) -> None:
    record = site.get(f"/api/errors/{SLUG}").json()["record"]
    assert record["id"] == ENTRY_ID
    assert record["errorMessage"] == TEMPLATE
    assert record["filePath"] == "python/sglang/srt/table.py"
    assert record["function"] == "Table.take"
    assert record["analyzedRelease"] == "2.0"
    assert len(record["analyzedSha"]) == 64
    lines = record["sourceCode"].splitlines()
    line = lines[record["lineNumber"] - record["sourceCodeStart"]]
    assert line.strip() == 'raise ValueError(f"needs {wanted} rows, has {rows}")'
    assert record["githubUrl"].endswith(
        f"/blob/v2.0/python/sglang/srt/table.py#L{record['lineNumber']}"
    )
    assert [g["text"] for g in record["guards"]] == ["wanted is None", "rows < wanted"]
    assert [h["expr"] for h in record["holes"]] == ["wanted", "rows"]
    assert record["sourceLicense"] == "MIT"
    assert record["schemaVersion"] == 3


def test_the_history_tells_of_every_scanned_release(site: TestClient) -> None:
    history = site.get(f"/api/errors/{SLUG}").json()["record"]["history"]
    assert [(h["version"], h["status"], h["file"]) for h in history] == [
        ("1.0", "same", "sglang/table.py"),
        ("1.1", "same", "sglang/table.py"),
        ("2.0", "moved", "sglang/srt/table.py"),
    ]


def test_a_correction_leads_to_the_run_that_shows_it(site: TestClient) -> None:
    [correction] = site.get(f"/api/errors/{SLUG}").json()["record"]["corrections"]
    assert correction["runId"] == "aaaaaaaaaaaaaaa1"
    assert correction["ok"] is True


def test_the_evidence_is_in_the_order_of_releases_trigger_first(site: TestClient) -> None:
    runs = site.get(f"/api/errors/{SLUG}").json()["record"]["evidence"]
    assert [(r["subject"], r["step"], r["passed"]) for r in runs] == [
        ("sglang==1.1", "trigger", True),
        ("sglang==1.1", "fix", True),
        ("sglang==2.0", "trigger", False),
    ]


def test_slug_and_id_answer_and_older_names_lead_on_for_good(site: TestClient) -> None:
    by_slug = site.get(f"/api/errors/{SLUG}")
    by_id = site.get(f"/api/errors/{ENTRY_ID}")
    assert by_slug.status_code == by_id.status_code == 200
    assert by_slug.json()["record"] == by_id.json()["record"]
    for old in (OLD_ID, "old-name", OLD_ID.upper()):
        answer = site.get(f"/api/errors/{old}")
        assert (answer.status_code, answer.headers["location"]) == (308, f"/api/errors/{SLUG}")


def test_a_reworded_message_keeps_its_old_id(site: TestClient) -> None:
    older = entry_id("sglang", "ValueError", f"{OLD_WORDS}, got {{args.rows}}")
    newer = entry_id("sglang", "ValueError", f"{NEW_WORDS}, got {{args.rows}}")
    answer = site.get(f"/api/errors/{older}")
    assert (answer.status_code, answer.headers["location"]) == (308, f"/api/errors/{newer}")
    record = site.get(f"/api/errors/{newer}").json()["record"]
    assert older in record["aliases"]
    assert [(h["version"], h["status"]) for h in record["history"]] == [
        ("1.0", "same"), ("1.1", "same"), ("2.0", "reworded"),
    ]  # fmt: skip


def test_an_unknown_key_is_a_problem_with_near_matches(site: TestClient) -> None:
    answer = site.get("/api/errors/too-few-row")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["title"], problem["type"]) == (
        404, "Not found", "about:blank",
    )  # fmt: skip
    assert problem["near"][0] == SLUG
    assert "too-few-row" in problem["detail"]


def test_the_list_is_walked_to_its_end_without_a_gap(site: TestClient) -> None:
    everything = site.get("/api/errors", params={"limit": 200}).json()
    assert everything["next"] is None
    ids = [row["id"] for row in everything["records"]]
    assert len(set(ids)) == len(ids) == everything["total"] > 4
    walked, cursor = [], None
    while True:
        page = site.get("/api/errors", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
        walked += [row["id"] for row in page.json()["records"]]
        cursor = page.json()["next"]
        if cursor is None:
            break
    assert walked == ids
    assert ids[0] == ENTRY_ID, "explained entries come first"


def test_filters_narrow_the_list(site: TestClient) -> None:
    def ids(**query: str) -> set[str]:
        answer = site.get("/api/errors", params={"limit": 200} | query)
        assert answer.status_code == 200, answer.text
        return {row["errorMessage"] for row in answer.json()["records"]}

    assert ids(q="cannot stop") == {"cannot stop that often <b>"}
    assert ids(**{"class": "RuntimeError"}) == {"cannot stop that often <b>"}
    assert ids(status="explained") == ids(status="executed") == {TEMPLATE}
    assert "cannot stop that often <b>" not in ids(package="sglang", release="1.1")
    assert "cannot stop that often <b>" in ids(release="sglang==2.0", status="new")
    assert TEMPLATE in ids(release="2.0", package="sglang", status="moved")
    assert TEMPLATE in ids(family="capacity-exceeded")
    assert site.get("/api/errors", params={"package": "other"}).status_code == 400
    assert ids(q="needs 16 rows, has 8") >= {TEMPLATE}, "a message as it was printed"


def test_bad_questions_are_told_what_is_wrong(site: TestClient) -> None:
    for query, said in (
        ({"limit": "0"}, "limit is 0"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "nonsense"}, "cursor does not belong"),
        ({"status": "odd"}, "status is 'odd'"),
        ({"release": "9.9"}, "no release '9.9'"),
        ({"page": "0"}, "page is 0"),
    ):
        answer = site.get("/api/errors", params=query)
        assert answer.status_code in {400, 404}, query
        assert answer.headers["content-type"] == "application/problem+json"
        assert said in answer.json()["detail"]
    first = site.get("/api/errors", params={"limit": 1}).json()["next"]
    other = site.get("/api/errors", params={"limit": 1, "cursor": first, "q": "rows"})
    assert other.status_code == 400, "a cursor belongs to its filters"


def test_answers_are_cached_by_their_content(site: TestClient) -> None:
    for path in (f"/api/errors/{SLUG}", "/api/errors", "/api/families", "/api/releases",
                 f"/errors/{SLUG}", f"/errors/{SLUG}.md", "/"):  # fmt: skip
        first = site.get(path)
        tag = first.headers["etag"]
        for asked in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            again = site.get(path, headers={"if-none-match": asked})
            assert (again.status_code, again.content) == (304, b""), path
            assert again.headers["etag"] == tag
        plain = site.get(path, headers={"accept-encoding": "identity"})
        assert plain.content == first.content, "packed and plain are the same"
        assert site.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_the_short_way_sends_what_the_long_way_sends(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second request is answered in front of the application, to the last byte and header."""
    monkeypatch.setattr("app.http.answers.RECHECK_SECONDS", 3600.0)
    path = f"/errors/{SLUG}"
    for method in ("GET", "HEAD"):
        for headers in ({"accept-encoding": "gzip"}, {"accept-encoding": "identity"},
                        {"if-none-match": "*"}, {"if-none-match": '"x"'}):  # fmt: skip
            with TestClient(create_app(world)) as site:
                state = site.app.state.reprobase
                assert state.answers.addresses == 0
                first = site.request(method, path, headers=headers)
                assert state.answers.addresses == 1
                state.answers._kept.clear()
                second = site.request(method, path, headers=headers)
                assert state.answers._kept == {}, "nothing was rendered for the second one"
            assert first.status_code == second.status_code
            assert first.content == second.content
            assert dict(first.headers) == dict(second.headers)


def test_head_answers_wherever_get_does(site: TestClient) -> None:
    for path in ("/", "/errors", f"/errors/{SLUG}", f"/api/errors/{SLUG}", "/healthz",
                 "/openapi.json", "/api/runs/aaaaaaaaaaaaaaa1/events"):  # fmt: skip
        head = site.head(path)
        assert (head.status_code, head.content) == (200, b""), path
    assert site.head("/api/errors/none").status_code == 404


def test_other_methods_and_paths_are_problems(site: TestClient) -> None:
    assert site.delete("/api/errors").status_code == 405
    assert site.delete("/api/errors").headers["content-type"] == "application/problem+json"
    assert site.get("/api/nothing").json()["status"] == 404
    assert "text/html" in site.get("/nothing").headers["content-type"]


def test_the_description_of_the_api_lists_the_routes(site: TestClient) -> None:
    paths = site.get("/openapi.json").json()["paths"]
    assert {"/api/errors", "/api/errors/{key}", "/api/families", "/api/releases",
            "/api/errors/{key}/runs", "/api/runs/{run_id}"} <= set(paths)  # fmt: skip
