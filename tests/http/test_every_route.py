"""What holds of every route: headers, sizes, no word of the program's insides."""

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, Request
from starlette.routing import Route
from starlette.testclient import TestClient

from app.api import ROUTERS as API
from app.http.layers import HEADERS
from app.main import create_app
from app.settings import Settings
from app.web import ROUTERS as WEB
from tests.web.catalogs import SLUG

REAL = {"key": SLUG, "tag": "capacity-exceeded", "package": "sglang", "version": "2.0",
        "run_id": "aaaaaaaaaaaaaaa1"}  # fmt: skip
HERE = {"origin": "http://127.0.0.1:8000"}
INSIDES = re.compile(r"Traceback|File \"|site-packages|sqlalchemy|pydantic|starlette|\.py\", line")
SECRET = "nobody outside may read this"


def routes() -> Iterator[tuple[str, str]]:
    """Every method and address of the application, with values that lead somewhere."""
    for router in (*API, *WEB):
        for route in router.routes:
            assert isinstance(route, Route)
            path = route.path
            for name in re.findall(r"{(\w+)(?::path)?}", path):
                path = re.sub(rf"{{{name}(:path)?}}", REAL.get(name, "nothing"), path)
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield method, path
    yield "POST", "/mcp"
    yield "GET", "/openapi.json"


ALL = sorted(set(routes()))
POSTS = [path for method, path in ALL if method == "POST"]


def test_the_list_of_routes_is_whole() -> None:
    assert len(ALL) >= 40
    assert {"/diagnose", "/api/diagnose", "/ask", "/hits", "/mcp", "/preflight"} <= set(POSTS)


@pytest.mark.parametrize(("method", "path"), ALL)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_every_answer_has_the_safe_headers_and_no_insides(
    site: TestClient, method: str, path: str, accept: str
) -> None:
    """Good requests, foreign methods, junk for a body, and odd queries alike."""
    junk = b"\xff\x00{" * 9
    headers = HERE | {"accept": accept}
    answers = [
        site.request(method, path, headers=headers, content=junk if method == "POST" else None),
        site.request("DELETE", path, headers=headers),
        site.request(method, f"{path}/%00/{'x' * 300}", headers=headers),
        site.request(
            method, path, headers=headers, params={"page": "x", "q": "\x00'\"<", "é": "%"}
        ),
    ]
    for answer in answers:
        assert answer.status_code != 500, answer.text
        for name, value in HEADERS:
            assert answer.headers[name.decode()] == value.decode(), name
        if answer.status_code >= 400:
            assert not INSIDES.search(answer.text), answer.text
            if "json" in answer.headers.get("content-type", ""):
                assert set(answer.json()) >= {"type", "title", "status", "detail"}


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=b", "application/json",
                                  "application/x-www-form-urlencoded"])  # fmt: skip
@pytest.mark.parametrize("told", [True, False], ids=["declared", "in pieces"])
def test_a_body_without_end_is_not_read_to_its_end(
    site: TestClient, path: str, kind: str, *, told: bool
) -> None:
    """A terabyte that is declared is refused unread; one that is not, at the route's limit."""
    piece = b"x" * (1 << 20)
    pieces = [b'--b\r\nContent-Disposition: form-data; name="text"\r\n\r\n']
    read = 0
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        body = pieces.pop() if pieces and kind.startswith("multipart") else piece
        return {"type": "http.request", "body": body, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {**HERE, "host": "127.0.0.1:8000", "content-type": kind,
               "accept": "application/json, text/event-stream"}  # fmt: skip
    if told:
        headers["content-length"] = str(1 << 40)
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 4711), "server": ("127.0.0.1", 8000),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip

    async def ask() -> None:
        await site.app(scope, receive, send)

    assert site.portal is not None
    site.portal.call(ask)
    body = b"".join(message.get("body", b"") for message in sent)
    status = sent[0]["status"]
    if (kind == "application/json") == path.startswith(("/api/", "/mcp")):
        assert status == 413, (status, body[:200])
    else:  # this route takes nothing of the kind
        assert status == 413 or read <= 2, (status, read)
    assert read <= (0 if told else 260)
    assert not INSIDES.search(body.decode())


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_fault_nobody_thought_of_is_told_to_the_log_alone(
    world: Settings, caplog: pytest.LogCaptureFixture, accept: str
) -> None:
    app = create_app(world)
    router = APIRouter()

    @router.get("/broken")
    async def broken(_: Request) -> None:
        raise ZeroDivisionError(SECRET)

    app.include_router(router)
    address = "http://127.0.0.1:8000"
    with (
        TestClient(app, base_url=address, raise_server_exceptions=False) as site,
        caplog.at_level(logging.ERROR),
    ):
        answer = site.get("/broken", headers={"accept": accept})
    assert answer.status_code == 500
    assert SECRET not in answer.text
    assert "ZeroDivisionError" not in answer.text
    assert not INSIDES.search(answer.text)
    assert "fault of the site" in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert SECRET in caplog.text


@pytest.mark.parametrize("path", [f"/errors/{SLUG}/runs", f"/api/errors/{SLUG}/runs", "/preflight",
                                  "/api/preflight"])  # fmt: skip
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-site"},
        {"referer": "http://127.0.0.1:8000/"},
    ],
)
def test_no_other_page_can_have_a_visitor_execute_anything(
    site: TestClient, path: str, headers: dict[str, str]
) -> None:
    """There are no cookies to forge with; what a browser could be made to send is refused."""
    answer = site.post(path, headers=headers, data={"text": "python -m sglang.launch_server"})
    assert answer.status_code == 403
    assert "own pages" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_file_of_a_form_is_not_written_to_the_disk_without_end(site: TestClient) -> None:
    """Forms put large files on the disk: their size counts as well."""
    head = (
        b'--b\r\nContent-Disposition: form-data; name="config"; filename="c.json"\r\n'
        b"Content-Type: application/json\r\n\r\n"
    )
    sent = 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        yield head
        for _ in range(64):
            sent += 1
            yield b"x" * (1 << 20)

    headers = HERE | {"content-type": "multipart/form-data; boundary=b"}
    answer = site.post("/preflight", headers=headers, content=body())
    assert answer.status_code == 413
    assert "larger than 2 MB" in answer.text
