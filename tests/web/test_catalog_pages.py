"""Areas, families and differences count what the lists behind them show."""

import re
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from app.db import session
from app.main import create_app
from app.services.areas import area_of
from app.services.asking import kind_of
from app.services.entries import entry_record
from app.services.entry_code import solutions_of
from app.services.entry_page import differing, version_list
from app.services.records import RunRecord
from app.services.resolve import resolve
from app.services.run_records import run_page
from app.settings import Settings
from app.web.render import message_html, render
from tests.web.catalogs import ENTRY_ID, SLUG
from tests.web.markup import Page


@pytest.mark.parametrize(
    ("file", "area"),
    [
        ("sglang/a.py", "(top)"), ("sglang/srt/a.py", "srt"), ("sglang/srt/layers/a.py",
        "srt/layers"), ("sglang/srt/layers/moe/deep/a.py", "srt/layers"),
    ],
)  # fmt: skip
def test_an_area_is_the_first_two_folders(file: str, area: str) -> None:
    assert area_of(file) == area


def test_every_cell_of_the_heat_map_is_the_length_of_its_list(site: TestClient) -> None:
    [package] = site.get("/api/releases").json()["packages"]
    assert {area["name"] for area in package["areas"]} == {"(top)", "srt"}
    for area in package["areas"]:
        for version, count in zip(package["versions"], area["counts"], strict=True):
            query = {"package": "sglang", "release": version, "area": area["name"]}
            assert site.get("/api/errors", params=query).json()["total"] == count, query
    words = {"area": "srt", "release": "sglang==2.0", "q": "rows"}
    found = site.get("/api/errors", params=words).json()["records"]
    assert found
    assert all("/srt/" in row["filePath"] for row in found)


def test_a_difference_can_be_asked_for_one_kind_page_by_page(site: TestClient) -> None:
    query = {"from": "1.0", "to": "2.0"}
    whole = site.get("/api/releases/sglang/diff", params=query).json()
    for kind in ("new", "gone", "moved", "reworded"):
        one = site.get("/api/releases/sglang/diff", params={**query, "status": kind}).json()
        assert one["counts"] == whole["counts"]
        assert one[kind] == whole[kind]
        assert not [k for k in ("new", "gone", "moved", "reworded") if k != kind and one[k]]
        page = site.get("/releases/sglang/diff", params={**query, "status": kind})
        assert page.status_code == 200
    for more, status in (({"status": "odd"}, 400), ({"page": 2}, 400), ({"page": 0}, 400),
                         ({"status": "new", "page": 2}, 404)):  # fmt: skip
        assert site.get("/releases/sglang/diff", params={**query, **more}).status_code == status


def test_a_family_counts_its_errors_in_each_release(site: TestClient) -> None:
    found = site.get("/api/families/capacity-exceeded").json()
    [package] = [p for p in found["packages"] if p["package"] == "sglang"]
    assert package["versions"] == ["1.0", "1.1", "2.0"]
    for version, count in zip(package["versions"], package["counts"], strict=True):
        query = {"family": "capacity-exceeded", "release": f"sglang=={version}"}
        assert site.get("/api/errors", params=query).json()["total"] == count
    assert ENTRY_ID in {example["id"] for example in package["examples"]}
    row = next(
        f for f in site.get("/api/families").json()["families"] if f["tag"] == "capacity-exceeded"
    )
    assert row["trend"] == package["counts"]


def test_a_solution_that_no_run_tried_says_so(site: TestClient, world: Settings) -> None:
    page = Page(site.get(f"/errors/{SLUG}").text)
    assert page.words.count("Not run as it is written here.") == 2
    assert site.get(f"/errors/{SLUG}.md").text.count("Not run as it is written here.") == 2
    with session(world) as db:
        record = entry_record(db, resolve(db, SLUG).entry, world)
    tried = {"section": "Solutions", "input": "Send fewer rows", "ok": True}
    run = RunRecord(
        id="s", entry_id=ENTRY_ID, step="fix", subject="sglang==2.0", passed=True, claims=[tried]
    )
    record.evidence.append(run)
    first, second = solutions_of(record)
    assert (first.ok, second.ok, second.run_id) == (None, True, "s")
    run.claims.append({**tried, "ok": False})
    assert solutions_of(record)[1].ok is False


def test_the_oldest_release_is_not_said_to_have_nothing_new(site: TestClient) -> None:
    rows = site.get("/releases").text.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")
    assert "no earlier release to compare with" in rows[-1]
    assert not any("no earlier release" in row for row in rows[:-1])


def test_releases_that_were_not_run_are_never_between_two_that_were() -> None:
    assert version_list(["1.0", "2.0"]) == "1.0, 2.0"
    assert version_list(["1.0", "1.1", "1.4", "2.0"]) == "2.0 and 3 more"
    assert version_list(["1.0", "1.1", "1.4", "reference"]) == "1.0, 1.1, 1.4, the reference"
    several = ["0.9", "1.0", "1.1", "1.4", "reference"]
    assert version_list(several) == "1.4 and 3 more, the reference"
    assert version_list(["reference"]) == "the reference"


def test_what_trigger_and_fix_recorded_differently_is_marked(world: Settings) -> None:
    trigger = RunRecord(
        id="t", entry_id="e", step="trigger", subject="s", values={"rows": 8, "n": 1, "only": 2}
    )
    fix = RunRecord(id="f", entry_id="e", step="fix", subject="s", values={"rows": 16, "n": 1})
    assert differing(trigger, fix) == ["rows"]
    assert differing(trigger, None) == []
    with session(world) as db:
        page = run_page(db, "aaaaaaaaaaaaaaa1")
    page.run, page.other = trigger, fix
    html = render("run.html", page=page, code={"trigger": "", "fix": ""}, report="", report_link="")
    assert re.findall("<mark>(.*?)</mark>", html) == ["8", "16"]
    assert "not recorded" in html


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "nothing"), ("  \n ", "nothing"), ("scratch steps", "words"),
        ("ValueError: needs 16 rows", "log"), ("a\nb\nc\nd\ne", "log"),
        ("[2026-11-29 07:41:10 TP3] x", "log"),
        ("python3 -m sglang.launch_server --tp 2", "command"), ("sglang serve m", "command"),
        ("python -m sglang.launch_server \\\n --tp 2 \\\n --dp 2 \\\n --a \\\n --b", "command"),
        ("--tp-size 8 --model-path x", "command"), ("--rows must be positive", "words"),
        ("command:\n- python3\n- -m\n- sglang.launch_server\n- --tp\n- '8'", "command"),
    ],
)  # fmt: skip
def test_the_box_knows_what_it_was_given(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_a_long_expression_is_cut_in_a_list_and_nowhere_else() -> None:
    long = "a" * 60
    assert long in message_html(f"x {{{long}}}")
    short = message_html(f"x {{{long}}}", 20)
    assert long not in short
    assert "aaa…}" in short


def test_hits_are_a_piece_of_a_page(site: TestClient) -> None:
    for field in ("text", "q"):
        answer = site.post("/hits", data={field: "rows positive"})
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        page = Page(answer.text)
        assert page.unclosed == []
        assert page.all("a", id=f"{field}-hit-1")
        assert not page.all("html")
    assert Page(site.post("/hits", data={"text": ""}).text).words == ""
    assert site.post("/hits", data={"odd": "x"}).status_code == 400


def test_links_lead_to_the_repository_where_it_is_named(site: TestClient, world: Settings) -> None:
    there = replace(world, repository_url="https://code.example/x")
    with TestClient(create_app(there), base_url="http://127.0.0.1:8000") as other:
        links = Page(other.get(f"/errors/{SLUG}").text).all("a")
        hrefs = [a.get("href", "") for a in links]
        assert f"https://code.example/x/edit/main/data/errors/{SLUG}.md" in hrefs
        [report] = [h for h in hrefs if h.startswith("https://code.example/x/issues/new?")]
        assert "Reprobase%3A+0.1.0" in report
        assert "sglang+2.0" in report
        assert len(report) < 8000
    words = Page(site.get(f"/errors/{SLUG}").text)
    assert not [a for a in words.all("a") if "issues/new" in a.get("href", "")]
    assert f"data/errors/{SLUG}.md" in words.words


def test_every_page_names_its_canonical_address(site: TestClient) -> None:
    for path, wanted in (
        ("/", "/"), ("/errors?page=1&q=rows", "/errors?q=rows"), ("/families", "/families"),
        ("/families/capacity-exceeded", "/families/capacity-exceeded"), ("/releases", "/releases"),
        ("/releases/sglang/2.0", "/releases/sglang/2.0"), ("/about", "/about"),
        ("/releases/sglang/diff", "/releases/sglang/diff?from=1.1&to=2.0"),
    ):  # fmt: skip
        [link] = Page(site.get(path).text).all("link", rel="canonical")
        assert link["href"] == wanted
