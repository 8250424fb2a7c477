"""`POST /api/preflight`: would this launch line be refused, by the release's own checks."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from app.http.bodies import read_body
from app.http.faults import check_query, read_json
from app.http.preflights import (
    ADVICE,
    MOST_CONFIG,
    MOST_TEXT,
    check_preflight_allowed,
    preflight,
)
from app.http.problems import PROBLEMS
from app.http.state import State, state_of

router = APIRouter(prefix="/api", tags=["preflight"])
_MOST = 2 * (MOST_TEXT + MOST_CONFIG)


class Wanted(BaseModel):
    """A line and what it is checked for."""

    model_config = ConfigDict(extra="forbid")

    command: str
    """The launch line as it was pasted."""
    release: str | None = None
    gpu: str | None = None
    config: str | dict[str, Any] | None = None
    """The model's config.json, as text or as an object."""
    since: bool = False
    """Ask the other releases too: in which is the line refused, which take it? Takes seconds."""


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": Wanted.model_json_schema()},
            "text/plain": {"schema": {"type": "string"}},
        },
    }
}


@router.post("/preflight", responses=PROBLEMS, openapi_extra=_BODY)
async def check(request: Request) -> Response:
    """What a release's own parser and checks say to a line; only for the machine itself."""
    check_preflight_allowed(request)
    check_query(request, "release", "gpu", "since")
    raw = await read_body(request, most_raw=_MOST, most_unpacked=_MOST, advice=ADVICE)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    query = dict(request.query_params)
    document = await run_in_threadpool(_answer, state_of(request), raw, kind, query)
    return JSONResponse(document, headers={"Cache-Control": "no-store"})


def _answer(state: State, raw: bytes, kind: str, query: dict[str, str]) -> dict[str, Any]:
    wanted = _wanted(raw, kind, query)
    config = wanted.config
    report = preflight(
        state,
        line=wanted.command,
        release=wanted.release or "",
        gpu=wanted.gpu or "",
        config=json.dumps(config) if isinstance(config, dict) else config or "",
        since=wanted.since,
    )
    return report.as_json()


def _wanted(raw: bytes, kind: str, query: dict[str, str]) -> Wanted:
    if kind != "application/json":
        text = raw.decode("utf-8", "replace")
        return Wanted(
            command=text,
            release=query.get("release"),
            gpu=query.get("gpu"),
            since=query.get("since", "") not in ("", "0", "false"),
        )
    return read_json(raw, Wanted)
