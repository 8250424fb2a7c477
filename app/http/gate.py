"""Who may come in: asked by a name of the site, not too often, with a body that arrives.

Plain ASGI, for the reason of `app.http.layers`. What is at hand (`app.http.ready`) is answered
before, by the same names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from app.exceptions import ReprobaseError, TooOftenError
from app.http.arrival import Bodies, in_time
from app.http.hosts import Hosts, not_this_host
from app.http.peers import client_of, is_this_machine
from app.http.rates import Rates, allowance_of
from app.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

Refusal = Callable[[Request, ReprobaseError], Awaitable[Response]]
"""Answers a request that is refused."""


class Gate:
    """Refuses what need not be looked at."""

    def __init__(self, app: ASGIApp, settings: Settings, hosts: Hosts, refusal: Refusal) -> None:
        self._app = app
        self._settings = settings
        self._hosts = hosts
        self._refusal = refusal
        self._rates = Rates()
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            response = await self._refusal(Request(scope), refused)
            await response(scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        with self._bodies.one() as take:
            await self._app(scope, in_time(receive, take), send)

    def _refused(self, scope: Scope) -> ReprobaseError | None:
        if not self._hosts.knows(scope):
            return not_this_host(scope)
        allowed = allowance_of(scope) if self._settings.rate_limits else None
        if allowed is None:
            return None
        headers = Headers(scope=scope)
        if is_this_machine(scope, headers):
            return None
        try:
            self._rates.check(client_of(scope, headers, self._settings.proxies), allowed)
        except TooOftenError as error:
            return error
        return None
