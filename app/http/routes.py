"""What the routes of the application offer: methods of an address, an address without its slash."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.routing import Match
from starlette.types import Scope

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def offered(request: Request) -> list[str]:
    """The methods that an address answers, HEAD wherever GET is."""
    found = [m for m in _METHODS if _answers(request, {**request.scope, "method": m})]
    return ["GET", "HEAD", *found[1:]] if found[:1] == ["GET"] else found


def without_slash(request: Request) -> str | None:
    """Where an address is that differs by the slash at its end; None if there is nothing either."""
    path = request.scope["path"]
    bare = "/" + path.strip("/")
    if not path.endswith("/") or bare == path:
        return None
    if not _answers(request, {**request.scope, "path": bare, "raw_path": bare.encode()}):
        return None
    query = request.url.query
    return quote(bare) + (f"?{query}" if query else "")


def _answers(request: Request, scope: Scope) -> bool:
    routes = request.app.router.routes
    return any(route.matches(scope)[0] == Match.FULL for route in routes)
