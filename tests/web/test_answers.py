"""Answers are kept for one state of the catalog and no longer, and only for addresses of a size."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import Session
from starlette.testclient import TestClient

from app.db import session, touch
from app.http.answers import HTML, LONGEST_ADDRESS, Answers, Rendered, rendered
from app.main import create_app
from app.settings import Settings
from tests.web.catalogs import SLUG

Build = Callable[[Session], Rendered]


def counted(made: list[int], during: Callable[[], None] = lambda: None) -> Build:
    """Builds a page with a number of its own; `during` happens while it is built."""

    def build(_db: Session) -> Rendered:
        made.append(len(made))
        during()
        return rendered(f"page {len(made)}", HTML)

    return build


def test_a_page_is_built_once_for_a_state_of_the_catalog(empty: Settings) -> None:
    made: list[int] = []

    async def ask() -> list[bytes]:
        answers = Answers(empty)
        first = [(await answers.get("key", counted(made))).body for _ in range(3)]
        with session(empty) as db:
            touch(db)
        answers.forget()
        return [*first, (await answers.get("key", counted(made))).body]

    assert asyncio.run(ask()) == [b"page 1", b"page 1", b"page 1", b"page 2"]


def test_a_page_that_was_built_while_somebody_wrote_is_not_kept(empty: Settings) -> None:
    made: list[int] = []

    def write() -> None:
        with session(empty) as db:
            touch(db)

    async def ask() -> list[bytes]:
        answers = Answers(empty)
        disturbed = (await answers.get("key", counted(made, write))).body
        return [disturbed, *[(await answers.get("key", counted(made))).body for _ in range(2)]]

    assert asyncio.run(ask()) == [b"page 1", b"page 2", b"page 2"]


def test_a_long_query_is_answered_and_not_kept(site: TestClient) -> None:
    answers = site.app.state.reprobase.answers  # type: ignore[attr-defined]  # the application
    long = "rows " * LONGEST_ADDRESS
    before = answers.addresses, answers._bytes
    for path in ("/errors", "/api/errors"):
        assert site.get(path, params={"q": long}).status_code == 200
    assert (answers.addresses, answers._bytes) == before
    assert site.get("/errors", params={"q": "a short one"}).status_code == 200
    assert answers.addresses == before[0] + 1


@pytest.mark.parametrize(
    "path",
    [f"/errors/{SLUG}/runs", f"/api/errors/{SLUG}/runs", "/preflight", "/api/preflight"],
)
def test_who_may_not_run_engine_code_is_told_before_a_byte_of_the_body_is_read(
    world: Settings, path: str
) -> None:
    asked: list[str] = []
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        asked.append("receive")
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("203.0.113.9", 4711), "server": ("127.0.0.1", 8000),
        "headers": [
            (b"host", b"127.0.0.1:8000"), (b"origin", b"http://127.0.0.1:8000"),
            (b"content-type", b"application/json"), (b"content-length", b"99999999"),
        ],
    }  # fmt: skip
    asyncio.run(create_app(world)(scope, receive, send))
    assert sent[0]["status"] == 403
    assert asked == []
