"""Heads and bodies that do not come, or do not end, cost the site nothing; slow ones are served."""

import asyncio
import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from app.exceptions import TooSlowError
from app.http import arrival, protocol
from app.main import create_app
from app.settings import Settings

HOST = b"Host: 127.0.0.1\r\n"
LOG = b"ValueError: needs 16 rows, has 8\n"


@pytest.fixture
def address(world: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The site behind a real socket, with limits short enough to wait for."""
    monkeypatch.setattr(protocol, "SECONDS", 0.6)
    monkeypatch.setattr(arrival, "GRACE", 1.0)
    config = uvicorn.Config(
        create_app(world), port=0, log_level="critical", ws="none",
        http="app.http.protocol:PunctualProtocol", proxy_headers=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()
    finally:
        server.should_exit = True
        thread.join(20)


def rest(connection: socket.socket) -> bytes:
    """Everything that comes until the other side closes."""
    connection.settimeout(20)
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            found += piece
    return found


def fine(connection: socket.socket) -> bool:
    """Ask once and read the answer whole; the connection stays open."""
    connection.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
    answer = b""
    while not answer.endswith(b"ok\n"):
        piece = connection.recv(1 << 16)
        assert piece, answer
        answer += piece
    return answer.startswith(b"HTTP/1.1 200 ")


def test_who_says_nothing_is_not_kept(address: tuple[str, int]) -> None:
    began = time.monotonic()
    with socket.create_connection(address) as connection:
        assert rest(connection) == b""
    assert 0.4 < time.monotonic() - began < 10


def test_half_a_head_is_answered_with_408(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Slow: ")
        assert rest(connection).startswith(b"HTTP/1.1 408 ")


def test_a_head_that_comes_in_drops_is_not_waited_for(address: tuple[str, int]) -> None:
    """Every drop is something, and yet the whole has to come in time."""
    began = time.monotonic()
    with socket.create_connection(address) as connection, contextlib.suppress(OSError):
        connection.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST)
        while time.monotonic() - began < 15:
            connection.sendall(b"X: y\r\n")
            time.sleep(0.05)
    assert time.monotonic() - began < 10


def test_the_second_request_of_a_connection_has_to_end_too(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.settimeout(20)
        assert fine(connection)
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"HTTP/1.1 408 " in rest(connection)


def test_a_head_without_end_is_refused(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Long: " + b"y" * (protocol.MOST_BYTES))
        assert rest(connection).startswith(b"HTTP/1.1 431 ")


def test_a_connection_with_many_requests_and_pauses_lives_on(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.settimeout(20)
        for _ in range(4):
            assert fine(connection)
            time.sleep(0.4)


def test_a_body_that_takes_longer_than_a_head_may_is_read(address: tuple[str, int]) -> None:
    head = b"POST /api/diagnose HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(LOG)
    with socket.create_connection(address) as connection:
        connection.settimeout(20)
        connection.sendall(head + LOG[:5])
        time.sleep(0.8)
        connection.sendall(LOG[5:])
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("path", ["/api/diagnose", "/diagnose", "/ask", "/hits", "/mcp"])
def test_a_body_that_does_not_come_is_answered_with_408_and_the_end(
    address: tuple[str, int], path: str
) -> None:
    kinds = {"/mcp": b"application/json", "/api/diagnose": b"text/plain"}
    kind = kinds.get(path, b"application/x-www-form-urlencoded")
    head = b"POST %s HTTP/1.1\r\n" % path.encode() + HOST + b"Content-Type: %s\r\n" % kind
    head += b"Accept: application/json, text/event-stream\r\n"
    began = time.monotonic()
    with socket.create_connection(address) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(head + b"Content-Length: 100000\r\n\r\n")
            # no more is sent once the answer is there: it could be lost to what is on its way
            while time.monotonic() - began < 5 and not select.select([connection], [], [], 0.1)[0]:
                connection.sendall(b"x")
        answer = rest(connection)
    assert time.monotonic() - began < 20
    assert b"Traceback" not in answer
    assert answer.startswith(b"HTTP/1.1 408 "), answer[:300]


def test_the_refusal_is_a_problem_document(
    world: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrival, "GRACE", 0.1)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(5)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    path = "/api/diagnose"
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("203.0.113.9", 4711), "server": ("127.0.0.1", 8000),
        "headers": [(b"host", b"127.0.0.1:8000")],
    }  # fmt: skip
    asyncio.run(create_app(world)(scope, receive, send))
    headers = dict(sent[0]["headers"])
    assert (sent[0]["status"], headers[b"connection"]) == (408, b"close")
    assert headers[b"content-type"] == b"application/problem+json"
    assert "did not arrive in time" in json.loads(sent[1]["body"])["detail"]


def test_a_body_may_take_as_long_as_its_size_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "GRACE", 0.3)
    monkeypatch.setattr(arrival, "SLOWEST", 1000)
    pauses = [0.0, 0.6, 30.0]

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pauses.pop(0))
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def read() -> list[int]:
        got = arrival.in_time(receive)
        found = [len((await got())["body"]), len((await got())["body"])]
        with pytest.raises(TooSlowError, match="2,000 bytes"):
            await got()
        return found

    assert asyncio.run(read()) == [1000, 1000]


def test_who_only_listens_is_not_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream of a run waits for `http.disconnect` with nothing to come."""
    monkeypatch.setattr(arrival, "GRACE", 0.05)

    async def read() -> str:
        messages: list[dict[str, Any]] = [{"type": "http.request", "body": b"x"}]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await asyncio.sleep(0.2)
            return {"type": "http.disconnect"}

        got = arrival.in_time(receive)
        await got()
        return str((await got())["type"])

    assert asyncio.run(read()) == "http.disconnect"


def test_a_body_that_ends_where_the_next_head_begins_counts_for_no_head(
    address: tuple[str, int],
) -> None:
    body = b"x" * (protocol.MOST_BYTES + 1000)
    first = b"POST /api/diagnose HTTP/1.1\r\n" + HOST + b"Content-Type: text/plain\r\n"
    first += b"Content-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(address) as connection:
        connection.sendall(first)
        time.sleep(0.1)
        connection.sendall(body + b"GET /healthz HTTP/1.1\r\n")
        connection.sendall(HOST + b"Connection: close\r\n\r\n")
        answers = rest(connection)
    assert b" 431 " not in answers
    assert answers.endswith(b"ok\n")
