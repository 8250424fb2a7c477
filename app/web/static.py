"""Style, script and icon: addressed by their hash, so that a browser keeps them for ever."""

import mimetypes

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.exceptions import NotFoundError
from app.http.answers import Rendered, answer, rendered
from app.web.render import assets

router = APIRouter(include_in_schema=False)
_YEAR = 365 * 24 * 3600
_made: dict[str, Rendered] = {}


@router.get("/static/{digest}/{name}")
async def static(request: Request, digest: str, name: str) -> Response:
    """One static file."""
    url, body = assets().get(name, ("", b""))
    if url != f"/static/{digest}/{name}":
        raise NotFoundError(f"There is no file {name!r} with this hash.")
    if url not in _made:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        _made[url] = rendered(body, kind)
    response = answer(request, _made[url], max_age=_YEAR)
    response.headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable"
    return response


@router.get("/favicon.ico")
async def favicon(request: Request) -> Response:
    """The icon where browsers look for it unasked."""
    _, body = assets()["icon.svg"]
    return answer(request, rendered(body, "image/svg+xml"), max_age=86400)
