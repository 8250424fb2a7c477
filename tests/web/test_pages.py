"""The pages say what the page objects say, load nothing from elsewhere, and lead somewhere."""

import xml.etree.ElementTree as ET

import pytest
from starlette.testclient import TestClient

from app.db import session
from app.knowledge.markdown import plain_text
from app.services.entries import entry_record
from app.services.entry_page import EntryPage, entry_page
from app.services.resolve import resolve
from app.services.run_records import run_page
from app.settings import Settings
from app.web.render import render
from tests.web.catalogs import ENTRY_ID, OLD_ID, SLUG
from tests.web.markup import Page

PAGES = [
    "/", "/errors", "/errors?q=rows", "/errors?release=sglang==2.0&status=new", "/errors?q=zzzz",
    f"/errors/{SLUG}", "/families", "/families/capacity-exceeded", "/releases",
    "/releases/sglang/2.0", "/releases/sglang/1.0", "/releases/sglang/diff", "/about",
    "/diagnose", "/preflight",
    "/runs/aaaaaaaaaaaaaaa1", "/runs/aaaaaaaaaaaaaaa2", "/runs/aaaaaaaaaaaaaaa3", "/errors/none",
]  # fmt: skip


def facts(world: Settings, key: str = SLUG) -> EntryPage:
    with session(world) as db:
        return entry_page(entry_record(db, resolve(db, key).entry, world))


def test_the_entry_page_shows_every_fact_of_its_object(site: TestClient, world: Settings) -> None:
    page, record = facts(world), facts(world).record
    words = Page(site.get(f"/errors/{SLUG}").text).words
    markdown = [
        record.meaning, *record.not_this_if, *record.trigger_scenarios, *record.common_situations,
        *record.prevention_tips, *(c.said for c in record.corrections),
        *(c.code_does for c in record.corrections),
    ]  # fmt: skip
    shown = [
        *map(plain_text, markdown), record.error_class, record.title and "", record.id,
        "needs {wanted} rows, has {rows}", record.function, record.analyzed_release, OLD_ID,
        *(" ".join(g["text"].split()) for g in record.guards), "stops the server",
        "1.0 \N{EN DASH} 2.0 · still there", "executed on 1.1", "MIT",
    ]  # fmt: skip
    for text in shown:
        assert " ".join(str(text).split()) in words, text
    for row in page.matrix.rows:
        assert " ".join([row.name, *(c.label for c in row.cells)]).replace(
            " ", ""
        ) in words.replace(" ", "")
    for run in record.evidence:
        assert f'href="/runs/{run.id}"' in site.get(f"/errors/{SLUG}").text


def test_what_a_reader_needs_first_comes_first(site: TestClient) -> None:
    words = Page(site.get(f"/errors/{SLUG}").text).words
    order = [
        "needs {wanted} rows", "ValueError", "executed on 1.1", "The table was made for fewer",
        "Do this first", "Not this if", "Executed", "Broken and fixed", "What is commonly said",
        "Other fixes", "Why", "When it happens", "Code that defends itself", "Where it lived",
    ]  # fmt: skip
    places = [words.index(text, 100) for text in order]
    assert places == sorted(places)


def test_the_matrix_tells_passed_from_the_rest(world: Settings) -> None:
    matrix = facts(world).matrix
    assert matrix.subjects == ["sglang==1.0", "sglang==1.1", "sglang==2.0"]
    assert matrix.heads == ["1.0", ".1", "2.0"]
    cells = {row.name: [(c.kind, c.label) for c in row.cells] for row in matrix.rows}
    assert cells == {
        "trigger": [("none", "not run"), ("trigger", "raises"), ("other", "other error")],
        "fix": [("none", "not run"), ("fix", "passes"), ("none", "not run")],
    }


def test_an_error_nobody_explained_has_a_page_from_the_wheel_alone(site: TestClient) -> None:
    [row] = site.get("/api/errors", params={"q": "cannot stop"}).json()["records"]
    html = site.get(f"/errors/{row['id']}").text
    words = Page(html).words
    assert "cannot stop that often <b>" in words
    assert "When the code raises it" in words
    assert "if n > 3" in words
    assert "Do this first" not in words
    assert 'raise RuntimeError("cannot stop that often <b>")' in words, "source is open"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_from_elsewhere_and_runs_nothing_inline(
    site: TestClient, path: str
) -> None:
    answer = site.get(path)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = Page(answer.text)
    assert page.unclosed == []
    for tag, attributes in page.elements:
        assert "style" not in attributes, (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "script":
            assert attributes.get("type") == "application/ld+json" or attributes["src"][0] == "/"
        if tag in {"link", "img"} and attributes.get("rel") in {None, "stylesheet", "icon"}:
            assert attributes.get("href", attributes.get("src", ""))[0] == "/"


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_one_title_one_heading_and_a_way_to_its_content(
    site: TestClient, path: str
) -> None:
    page = Page(site.get(path).text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert page.all("html", lang="en")
    assert page.all("a", href="#content")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    named = [a for _, attributes in page.elements if (a := attributes.get("aria-labelledby"))]
    assert set(named) <= set(ids)


def test_every_link_of_every_page_leads_somewhere(site: TestClient) -> None:
    seen: set[str] = set()
    for path in PAGES:
        for href in Page(site.get(path).text).links() - seen:
            seen.add(href)
            answer = site.get(href)
            assert answer.status_code in {200, 308}, f"{path} → {href}: {answer.status_code}"
    assert len(seen) > 30


def test_an_entry_page_is_light(site: TestClient) -> None:
    html = site.get(f"/errors/{SLUG}").text
    page = Page(html)
    loaded = [a for t, a in page.elements if "src" in a or a.get("rel") in {"stylesheet", "icon"}]
    assert len(html.encode()) < 60_000
    assert len(loaded) + 1 <= 10


def test_values_of_a_run_cannot_break_out_of_the_page(site: TestClient) -> None:
    for path in (f"/errors/{SLUG}", "/runs/aaaaaaaaaaaaaaa1"):
        html = site.get(path).text
        assert "has 8 &lt;script&gt;" in html
        assert "has 8 <script>" not in html


def test_older_addresses_lead_on_with_their_ending(site: TestClient) -> None:
    for ending in ("", ".md"):
        answer = site.get(f"/errors/{OLD_ID}{ending}")
        assert (answer.status_code, answer.headers["location"]) == (308, f"/errors/{SLUG}{ending}")
    assert site.get(f"/errors/{ENTRY_ID}").status_code == 200
    canonical = Page(site.get(f"/errors/{ENTRY_ID}").text).all("link", rel="canonical")
    assert [link["href"] for link in canonical] == [f"/errors/{SLUG}"]


def test_pages_name_their_twins(site: TestClient) -> None:
    links = Page(site.get(f"/errors/{SLUG}").text).all("link", rel="alternate")
    twins = {link["type"]: link["href"] for link in links}
    assert site.get(twins["application/json"]).json()["record"]["id"] == ENTRY_ID
    text = site.get(twins["text/markdown"])
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# The table has fewer rows than the batch needs\n")


def test_the_markdown_twin_keeps_what_the_entry_file_says(
    site: TestClient, world: Settings
) -> None:
    text = " ".join(site.get(f"/errors/{SLUG}.md").text.split())
    record = facts(world).record
    for part in (
        record.meaning, *record.solutions, *record.not_this_if, *record.trigger_scenarios,
        record.validation_code, record.type_guard, record.try_catch_pattern,
        *(c.said for c in record.corrections), record.example_fix and record.example_fix.fixed,
    ):  # fmt: skip
        assert " ".join(str(part).split()) in text, part


def test_an_unknown_address_offers_what_was_perhaps_meant(site: TestClient) -> None:
    answer = site.get("/errors/too-few-row")
    assert answer.status_code == 404
    assert f'<a href="/errors/{SLUG}">' in answer.text


def test_the_feed_and_the_sitemap_are_well_formed_and_lead_to_pages(site: TestClient) -> None:
    atom = "{http://www.w3.org/2005/Atom}"
    feed = ET.fromstring(site.get("/feed.atom").content)
    titles = [t.text for t in feed.findall(f"{atom}entry/{atom}title")]
    assert "RuntimeError: cannot stop that often <b>" in titles
    sitemap = ET.fromstring(site.get("/sitemap.xml").content)
    pages = [
        loc.text or "" for loc in sitemap.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")
    ]
    assert f"http://127.0.0.1:8000/errors/{SLUG}" in pages
    for url in pages:
        path = url.removeprefix("http://127.0.0.1:8000")
        assert site.get(path).status_code == 200, path


def test_llms_txt_leads_to_the_explained_entries(site: TestClient) -> None:
    assert f"/errors/{SLUG}.md)" in site.get("/llms.txt").text


@pytest.mark.parametrize(
    ("text", "status", "leads_to"),
    [
        ("scratch steps", 303, "/errors?q=scratch+steps"),
        ("  ", 303, "/"),
        ("Traceback (most recent call last):\n  File", 307, "/diagnose"),
        ("ValueError: needs 16 rows, has 8", 307, "/diagnose"),
        ("[2026-11-29 07:41:10 TP3] Scheduler hit an exception", 307, "/diagnose"),
        ("python3 -m sglang.launch_server --model-path x --tp 8", 307, "/preflight"),
        ("CUDA_VISIBLE_DEVICES=0 sglang serve --model x", 307, "/preflight"),
    ],
)
def test_the_one_box_knows_what_it_was_given(
    site: TestClient, text: str, status: int, leads_to: str
) -> None:
    answer = site.post("/ask", data={"text": text})
    assert (answer.status_code, answer.headers["location"]) == (status, leads_to)


def test_operations_answer(site: TestClient) -> None:
    assert site.get("/healthz").text == "ok\n"
    assert site.get("/readyz").text == "ready\n"
    metrics = site.get("/metrics").text
    assert "reprobase_entries 6" in metrics
    assert 'reprobase_requests_total{method="GET",status="200",' in metrics
    assert site.get("/api/status").json() == {"scanning": None}


def test_only_releases_that_were_run_are_named_as_executed(world: Settings) -> None:
    """Two releases apart are two names: a dash would claim those between."""
    record = facts(world).record.model_copy(deep=True)
    more = [run.model_copy(update={"subject": "sglang==2.0"}) for run in record.evidence[:2]]
    record.evidence = [run for run in record.evidence if run.subject != "sglang==2.0"] + more
    page = entry_page(record)
    assert page.verified == ["sglang==1.1", "sglang==2.0"]
    assert page.verified_span == "1.1, 2.0"


def test_an_assertion_without_an_expected_value_does_not_show_null(world: Settings) -> None:
    with session(world) as db:
        page = run_page(db, "aaaaaaaaaaaaaaa2")
    page.run.checks = [{"id": "finite", "ok": True, "expected": None, "got": None}]
    html = render(
        "run.html", page=page, code={"trigger": "", "fix": ""}, report="", report_link=None
    )
    assert "null" not in html
    assert "finite</td><td>holds</td><td>holds</td>" in html
