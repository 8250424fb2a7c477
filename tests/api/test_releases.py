"""Releases, their difference and the families as JSON."""

from starlette.testclient import TestClient

from tests.web.catalogs import SLUG, TEMPLATE


def test_the_releases_are_listed_oldest_first_with_their_areas(site: TestClient) -> None:
    [package] = site.get("/api/releases").json()["packages"]
    assert package["versions"] == ["1.0", "1.1", "2.0"]
    areas = {area["name"]: area["counts"] for area in package["areas"]}
    assert areas == {"(top)": [4, 4, 0], "srt": [0, 0, 5]}
    assert package["releases"][2]["changes"]["new"] == 1


def test_a_release_tells_what_changed_in_it(site: TestClient) -> None:
    page = site.get("/api/releases/sglang/2.0").json()
    assert page["previous"] == "1.1"
    assert page["next"] is None
    changed = {c["status"]: [r["errorMessage"] for r in c["records"]] for c in page["changed"]}
    assert changed["new"] == ["cannot stop that often <b>"]
    assert changed["reworded"] == ["--rows must be positive and small, got {args.rows}"]
    assert TEMPLATE in changed["moved"]
    assert sum(count for _, count in page["areas"]) == page["release"]["sites"] == 5


def test_the_difference_of_neighbours_is_what_the_scan_found(site: TestClient) -> None:
    diff = site.get("/api/releases/sglang/diff", params={"from": "1.1", "to": "2.0"}).json()
    changes = site.get("/api/releases/sglang/2.0").json()["release"]["changes"]
    assert {k: v for k, v in diff["counts"].items() if k != "same" and v} == changes
    assert diff["reworded"][0]["before"]["errorMessage"].startswith("--rows must be positive, got")
    assert {m["slug"] for m in diff["moved"]} >= {SLUG}


def test_the_difference_follows_rewordings_over_several_releases(site: TestClient) -> None:
    diff = site.get("/api/releases/sglang/diff", params={"from": "1.0", "to": "2.0"}).json()
    assert diff["counts"]["reworded"] == 1
    assert diff["counts"]["gone"] == 0
    same = site.get("/api/releases/sglang/diff", params={"from": "1.0", "to": "1.1"}).json()
    assert same["counts"] == {"new": 0, "gone": 0, "reworded": 0, "moved": 0, "same": 4}


def test_what_cannot_be_compared_is_told(site: TestClient) -> None:
    for query, status, said in (
        ({"from": "9.9", "to": "2.0"}, 404, "no release 'sglang==9.9'"),
        ({"from": "2.0", "to": "1.0"}, 400, "`from` is the older one"),
    ):
        answer = site.get("/api/releases/sglang/diff", params=query)
        assert (answer.status_code, said in answer.json()["detail"]) == (status, True)
    assert site.get("/api/releases/other/diff").status_code == 422
    assert site.get("/api/releases/sglang/9.9").json()["near"] == [
        "sglang==2.0", "sglang==1.1", "sglang==1.0",
    ]  # fmt: skip


def test_families_count_their_errors_by_package(site: TestClient) -> None:
    listed = {f["tag"]: f for f in site.get("/api/families").json()["families"]}
    page = site.get("/api/families/capacity-exceeded").json()
    assert listed["capacity-exceeded"]["total"] == page["total"] >= 1
    assert page["byPackage"]["sglang"] == page["total"]
    assert SLUG in {record["slug"] for record in page["records"]}
    assert {near["tag"] for near in page["near"]} >= {"out-of-range"}
    missing = site.get("/api/families/capacity-exceded")
    assert missing.status_code == 404
    assert missing.json()["near"][0] == "capacity-exceeded"
