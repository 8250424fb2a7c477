"""What cannot be read is told in our own words and with the right status, on pages and as JSON."""

import gzip

import pytest
from httpx import Response
from starlette.testclient import TestClient

from tests.web.catalogs import SLUG

HERE = {"origin": "http://127.0.0.1:8000"}
HUGE = "9" * 40
LIBRARY = ("pydantic", "Input should", "Expecting value", "multipart", "Extra inputs", "valid ")


def problem(answer: Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    kind = answer.headers["content-type"]
    assert kind == "application/problem+json"
    said = str(answer.json()["detail"])
    assert not any(word in said for word in LIBRARY), said
    return said


@pytest.mark.parametrize("number", [HUGE, "9" * 5000, "-1", "0", "1e3", "x"])
@pytest.mark.parametrize("path", ["/errors", "/api/errors", "/families/capacity-exceeded",
                                  "/api/families/capacity-exceeded"])  # fmt: skip
def test_a_page_that_is_no_page_is_refused(site: TestClient, path: str, number: str) -> None:
    answer = site.get(path, params={"page": number})
    assert answer.status_code == 400, answer.text
    assert "page is" in answer.text


def test_numbers_everywhere_are_bounded(site: TestClient) -> None:
    assert "limit is" in problem(site.get("/api/errors", params={"limit": HUGE}), 400)
    last = {"last-event-id": "9" * 5000}
    assert site.get("/api/runs/aaaaaaaaaaaaaaa1/events", headers=last).status_code == 200
    far = site.get("/api/errors", params={"q": "rows", "page": 1_000_000_000})
    assert "There is no page 1,000,000,000" in problem(far, 404)


@pytest.mark.parametrize("path", ["/errors", "/api/errors", "/families/capacity-exceeded"])
def test_a_page_behind_the_last_says_how_many_there_are(site: TestClient, path: str) -> None:
    answer = site.get(path, params={"page": 99})
    assert answer.status_code == 404
    assert "There is no page 99: this list has 1 page." in answer.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"familly": "x"}, "Did you mean &#39;family&#39;"),
        ({"package": "sglanf"}, "Near: sglang"),
        ({"family": "capacity-exceded"}, "Near: capacity-exceeded"),
        ({"class": "ValueEror"}, "Near: ValueError"),
        ({"class": "valueerror"}, "ValueError"),
        ({"status": "explaind"}, "Did you mean &#39;explained&#39;"),
        ({"release": "sglang==9"}, "Scanned are"),
    ],
)
def test_a_filter_that_nothing_has_is_told(
    site: TestClient, query: dict[str, str], said: str
) -> None:
    status = 404 if "release" in query else 400
    page = site.get("/errors", params=query)
    assert (page.status_code, said in page.text) == (status, True), page.text
    assert said.replace("&#39;", "'") in problem(site.get("/api/errors", params=query), status)


def test_a_cursor_is_read_to_its_last_letter(site: TestClient) -> None:
    good = site.get("/api/errors", params={"limit": 1}).json()["next"]
    assert site.get("/api/errors", params={"limit": 1, "cursor": good}).status_code == 200
    for bad in (f"!{good}", f"{good}=", f"{good}A", "", "%00"):
        answer = site.get("/api/errors", params={"limit": 1, "cursor": bad})
        assert "cursor does not belong" in problem(answer, 400)


@pytest.mark.parametrize("path", ["/api/diagnose", "/api/preflight", f"/api/errors/{SLUG}/runs"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[" * 50_000, "nested too deeply"),
        (b'{"log": ' + b"[" * 50_000, "nested too deeply"),
        (b"{", "line 1, column 2"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "must be a JSON object {"),
        (b"9" * 5000, "number is too long"),
        (b'{"nonsense": 1}', "There is no field 'nonsense' here."),
    ],
)
def test_every_json_reader_says_what_is_wrong(
    site: TestClient, path: str, body: bytes, said: str
) -> None:
    headers = HERE | {"content-type": "application/json"}
    answer = site.post(path, content=body, headers=headers)
    if b"nonsense" in body and "runs" not in path:
        assert problem(answer, 400)
    else:
        assert said in problem(answer, 400)


def test_half_a_character_is_no_fault_of_the_site(site: TestClient) -> None:
    headers = {"content-type": "application/json"}
    answer = site.post("/api/diagnose", content=b'{"log": "x \\ud800"}', headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "body",
    [bytes(range(256)) * 40, b"\0" * 99, b"\x1f\x8bnot gzip", b"\x28\xb5\x2f\xfdnot zstd",
     gzip.compress(bytes(range(256)) * 40, mtime=0)],
)  # fmt: skip
def test_what_is_no_text_is_never_clean(site: TestClient, body: bytes) -> None:
    assert "This is n" in problem(site.post("/api/diagnose", content=body), 400)
    page = site.post("/diagnose", files={"file": ("x.log", body)})
    assert (page.status_code, "This is n" in page.text) == (400, True)


@pytest.mark.parametrize("body", [b"", b" \n\t", gzip.compress(b"", mtime=0)])
def test_nothing_is_not_clean_either(site: TestClient, body: bytes) -> None:
    assert "nothing to diagnose" in problem(site.post("/api/diagnose", content=body), 422)


def test_logs_of_every_coding_are_text(site: TestClient) -> None:
    log = "ValueError: needs 16 rows, has 8 \N{EN DASH} \x1b[31mred\x1b[0m\n"
    wanted = site.post("/api/diagnose", content=log.encode()).json()
    assert wanted["findings"]
    for body in (log.encode(), log.encode("utf-16"), log.encode("utf-8-sig"),
                 gzip.compress(log.encode(), mtime=0)):  # fmt: skip
        answer = site.post("/api/diagnose", content=body)
        assert answer.status_code == 200, answer.text
        assert answer.json() == wanted


def test_a_run_names_the_fields_it_takes(site: TestClient) -> None:
    url = f"/api/errors/{SLUG}/runs"
    said = problem(site.post(url, json={"on": "sglang==1.0"}, headers=HERE), 400)
    assert said == ("There is no field 'on' here. The fields are step, subject, device.")
    said = problem(site.post(url, json={"step": "odd"}, headers=HERE), 400)
    assert said == "step is 'odd'; it takes 'trigger', 'fix' or 'both'."
    page = site.post(f"/errors/{SLUG}/runs", data={"on": "x"}, headers=HERE)
    assert (page.status_code, "There is no field" in page.text) == (400, True)


@pytest.mark.parametrize("kind", ["/errors", "/api/errors"])
def test_who_may_not_run_is_told_so_before_anything_else(site: TestClient, kind: str) -> None:
    url = f"{kind}/{SLUG}/runs"
    for headers in ({}, {"origin": "https://127.0.0.1:8000"}):
        assert site.post(url, json={"step": "odd"}, headers=headers).status_code == 403
        assert site.post(url, data={"step": "odd"}, headers=headers).status_code == 403
        bad = {**headers, "content-type": "multipart/form-data; boundary=x"}
        assert site.post(url, content=b"junk", headers=bad).status_code == 403
    assert site.post("/preflight", content=b"junk", headers=bad).status_code == 403


def test_a_field_that_is_too_long_ends_in_413_with_what_to_do(site: TestClient) -> None:
    long = "x" * ((1 << 20) + 1)
    for send in ({"data": {"text": long}}, {"files": {"text": (None, long)}}):
        page = site.post("/preflight", headers=HERE, **send)
        assert page.status_code == 413
        assert "Send the launch line alone" in page.text
        assert "diagnose" not in page.text.partition("<main")[2].partition("</main")[0]
    answer = site.post("/api/preflight", content=b"x" * (3 << 20), headers=HERE)
    said = problem(answer, 413)
    assert "Send the launch line alone" in said
    assert "log" not in said


def test_a_form_that_is_not_whole_is_told(site: TestClient) -> None:
    kind = {"content-type": "multipart/form-data; boundary=x"}
    for path in ("/diagnose", "/ask", "/preflight"):
        page = site.post(path, content=b"junk", headers=HERE | kind)
        assert page.status_code == 400
        assert "The form cannot be read" in page.text


def test_the_one_box_takes_a_whole_log(site: TestClient) -> None:
    log = "ERROR x\n" * (1 << 18)
    answer = site.post("/ask", data={"text": log})
    assert (answer.status_code, answer.headers["location"]) == (307, "/diagnose")


def test_a_slash_too_many_and_capitals_lead_on_for_good(site: TestClient) -> None:
    for path, where in (
        ("/errors/", "/errors"), ("/errors/?q=a%20b", "/errors?q=a%20b"),
        (f"/errors/{SLUG}/", f"/errors/{SLUG}"), ("/api/errors/", "/api/errors"),
        (f"/errors/{SLUG.upper()}", f"/errors/{SLUG}"),
        (f"/api/errors/{SLUG.upper()}", f"/api/errors/{SLUG}"),
        (f"/errors/{SLUG.title()}.md", f"/errors/{SLUG}.md"),
        ("//evil.example/errors/", None), ("/nothing/", None),
    ):  # fmt: skip
        answer = site.get(f"http://127.0.0.1:8000{path}")
        if where is None:
            assert answer.status_code == 404, path
        else:
            assert (answer.status_code, answer.headers["location"]) == (308, where)


def test_a_method_that_is_not_offered_names_those_that_are(site: TestClient) -> None:
    for method, path, allowed in (
        ("DELETE", "/api/errors", "GET, HEAD"), ("PUT", "/diagnose", "GET, HEAD, POST"),
        ("GET", "/api/diagnose", "POST"), ("POST", "/errors", "GET, HEAD"),
        ("GET", f"/api/errors/{SLUG}/runs", "POST"),
    ):  # fmt: skip
        answer = site.request(method, path)
        assert (answer.status_code, answer.headers.get("allow")) == (405, allowed), path
