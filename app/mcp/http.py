"""The tools over streamable HTTP at `/mcp`, one question a request.

Nothing is kept between requests, so any web worker can answer any of them. A page of another site
may not ask (its Origin gives it away), and `preflight_command`, which executes engine code, answers
those who may run code here. A program sends no Origin, and is taken for the site's own; a browser
sends one with every POST.
"""

import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.exceptions import ForbiddenError
from app.http.preflights import check_preflight_allowed, preflight
from app.http.problems import problem, problem_of
from app.http.state import State
from app.mcp.server import make_server
from app.mcp.tools import Around, Document

MOST_BODY = 32 << 20
"""Bytes of one message; `POST /api/diagnose` takes larger logs."""


class Endpoint:
    """What answers at `/mcp` while `running` is entered."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._manager: StreamableHTTPSessionManager | None = None

    def route(self) -> Route:
        """The route of the endpoint."""
        return Route("/mcp", self)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be ready to answer."""
        manager = StreamableHTTPSessionManager(
            make_server(self._around),
            json_response=True,
            stateless=True,
            max_request_body_size=MOST_BODY,
        )
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        if _is_foreign(request):
            error = ForbiddenError("This request did not come from this site's own pages.")
            await problem_of(error, request)(scope, receive, send)
        elif request.method != "POST":
            said = "MCP is asked by POST here; nothing is kept between requests."
            refused = problem(405, said, headers={"Allow": "POST"}, instance=request.url.path)
            await refused(scope, receive, send)
        elif self._manager is None:
            said = "The site is starting or stopping; try again in a few seconds."
            await problem(503, said, headers={"Retry-After": "5"})(scope, receive, send)
        else:
            await self._manager.handle_request(scope, receive, send)

    def _around(self, request: Request | None) -> Around:
        state = self._state

        def checked(*, line: str, release: str, gpu: str, config: str) -> Document:
            if request is None:
                raise ForbiddenError("A launch line is checked only for a known request.")
            check_preflight_allowed(_as_own(request))
            report = preflight(state, line=line, release=release, gpu=gpu, config=config)
            return report.as_json()

        return Around(state.settings, checked)


def _is_foreign(request: Request) -> bool:
    """Whether a page of another site asks, through somebody's browser."""
    origin = request.headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != request.headers.get("host", "")
    except ValueError:
        return True


def _as_own(request: Request) -> Request:
    """A request with the Origin that a page of this site would have sent."""
    if "origin" in request.headers:
        return request
    scope = {**request.scope, "headers": list(request.scope["headers"])}
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    MutableHeaders(scope=scope)["origin"] = own
    return Request(scope)
