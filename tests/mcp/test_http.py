"""Who may ask over HTTP: programs and the site's own pages; engine code only for this machine."""

import json
from dataclasses import replace
from typing import Any

import pytest
from httpx import Response
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
CALL = {"name": "preflight_command", "arguments": {"command": ""}}


def ask(site: TestClient, method: str, params: dict[str, Any], **headers: str) -> Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return site.post("/mcp", json=body, headers=HEADERS | headers)


def said(answer: Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"]["content"][0]["text"])


def test_a_page_of_another_site_is_refused(site: TestClient) -> None:
    for origin in ("http://evil.example", "null", "http://[", "http://127.0.0.1:8001"):
        answer = ask(site, "tools/list", {}, origin=origin)
        assert (answer.status_code, answer.json()["status"]) == (403, 403), origin
        assert answer.headers["content-type"] == "application/problem+json"
    assert ask(site, "tools/list", {}, origin="http://127.0.0.1:8000").status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT"])
def test_only_post_is_offered(site: TestClient, method: str) -> None:
    answer = site.request(method, "/mcp", headers=HEADERS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_engine_code_runs_only_for_this_machine(world: Settings) -> None:
    empty = "There is nothing to check: the launch line is empty."
    app = create_app(world)
    here = TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 1))
    with here as site:
        assert said(ask(site, "tools/call", CALL)) == empty
        assert "proxy" in said(ask(site, "tools/call", CALL, **{"x-forwarded-for": "1.2.3.4"}))
        assert ask(site, "tools/call", CALL, host="reprobase.example").status_code == 421
    named_too = create_app(replace(world, hosts=("reprobase.example",)))
    with TestClient(named_too, base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as site:
        named = said(ask(site, "tools/call", CALL, host="reprobase.example"))
        assert "loopback address" in named
        assert "reprobase preflight" in named
    away = TestClient(create_app(world), base_url="http://127.0.0.1:8000", client=("10.0.0.9", 1))
    with away as site:
        assert "only for the machine" in said(ask(site, "tools/call", CALL))
        assert ask(site, "tools/list", {}).json()["result"]["tools"], "reading is for everybody"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b'{"id":1e999}', b"\xff\xfe"]
)
def test_a_body_that_is_no_message_is_refused(site: TestClient, body: bytes) -> None:
    answer = site.post("/mcp", content=body, headers=HEADERS)
    assert answer.status_code in (400, 202), answer.text
    assert "Traceback" not in answer.text


def test_a_message_that_is_too_large_is_refused(site: TestClient) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * (33 << 20)})
    assert site.post("/mcp", content=body, headers=HEADERS).status_code == 413


def test_without_a_running_site_it_says_so(world: Settings) -> None:
    answer = TestClient(create_app(world)).post("/mcp", json={}, headers=HEADERS)
    assert (answer.status_code, answer.json()["status"]) == (503, 503)
