"""Errors of our own as answers: RFC 9457 documents for programs, pages for people."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from app.exceptions import NotFoundError, ReprobaseError, TooOftenError, TooSlowError
from app.services.filters import UnknownValueError

PROBLEM = "application/problem+json"
TRY_AGAIN = (429, 503)
RETRY_AFTER = "5"
"""Seconds after which to ask again, beside these statuses."""
_TITLES = {
    400: "That cannot be read", 403: "Not allowed from here", 404: "Not found",
    405: "That method is not offered here", 413: "Too large", 422: "That cannot be read",
    500: "Something went wrong",
}  # fmt: skip


class Problem(BaseModel):
    """What every failed request for JSON is answered with (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    instance: str | None = None
    near: list[str] | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "What was wrong",
        "content": {PROBLEM: {"schema": Problem.model_json_schema()}},
    }
}
"""For the `responses` of a JSON route."""


def problem(
    status: int,
    detail: str,
    *,
    title: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """One problem document; `type` is about:blank, the status and the title say the kind."""
    document = {
        "type": "about:blank",
        "title": title or _TITLES.get(status, "Problem"),
        "status": status,
        "detail": detail,
        **more,
    }
    return Response(
        json.dumps(document, ensure_ascii=False),
        status_code=status,
        media_type=PROBLEM,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def problem_of(error: ReprobaseError, request: Request, said: str | None = None) -> Response:
    """The problem document of one of our own errors; `said` in place of its own words."""
    more: dict[str, Any] = {"instance": request.url.path}
    if isinstance(error, (NotFoundError, UnknownValueError)):
        more["near"] = list(error.near)
    headers = headers_of(error)
    return problem(error.status, said or str(error), title=error.title, headers=headers, **more)


def headers_of(error: ReprobaseError) -> dict[str, str]:
    """What an answer to one of our own errors tells the program that asked."""
    if isinstance(error, TooSlowError):
        return {"Connection": "close"}  # the rest of the body may still come
    if isinstance(error, TooOftenError):
        return {"Retry-After": str(error.retry_after)}
    return {"Retry-After": RETRY_AFTER} if error.status in TRY_AGAIN else {}


def wants_json(request: Request) -> bool:
    """Whether the answer goes to a program: a JSON route, or one who asks for nothing but JSON."""
    if request.url.path.startswith(("/api/", "/mcp", "/openapi")):
        return True
    accept = request.headers.get("accept", "")
    return "json" in accept and "text/html" not in accept
