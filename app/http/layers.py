"""What stands around every request, as plain ASGI: headers, HEAD, and counters.

Plain ASGI because a Starlette `BaseHTTPMiddleware` costs more than a cached page does.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from app.http.metrics import Counters

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), browsing-topics=()"),
]
Fault = Callable[[Request, Exception], Awaitable[Response]]
"""Answers a request that failed in a way nobody thought of."""


class Around:
    """Security headers on every answer, HEAD wherever GET is, counters, an answer to faults."""

    def __init__(self, app: ASGIApp, counters: Counters, fault: Fault) -> None:
        self._app = app
        self._counters = counters
        self._fault = fault

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = str(scope["method"])
        head = method == "HEAD"
        if head:
            scope = {**scope, "method": "GET"}
        began = time.perf_counter()
        self._counters.in_progress += 1
        status = 500
        begun = answered = False

        async def send_out(message: Message) -> None:
            nonlocal status, begun, answered
            if message["type"] == "http.response.start":
                begun = True
                status = int(message["status"])
                present = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in HEADERS if pair[0] not in present),
                ]
                await send(message)
                if head:
                    answered = True
                    await send({"type": "http.response.body", "body": b""})
            elif not head:
                await send(message)

        async def receive_in() -> Message:
            # An endless answer to HEAD (an event stream) must see that nobody listens any more.
            return {"type": "http.disconnect"} if answered else await receive()

        try:
            await self._app(scope, receive_in if head else receive, send_out)
        except Exception as error:
            if begun:
                raise
            response = await self._fault(Request(scope), error)
            await response(scope, receive, send_out)
        finally:
            self._counters.in_progress -= 1
            self._counters.count(method, status, time.perf_counter() - began)
