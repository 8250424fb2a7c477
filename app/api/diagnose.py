"""`POST /api/diagnose`: what went wrong in a log."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from app.http.bodies import read_body, text_of
from app.http.faults import check_query, read_json
from app.http.problems import PROBLEMS
from app.http.state import state_of
from app.services.diagnosis import answer
from app.settings import Settings

router = APIRouter(prefix="/api", tags=["diagnosis"])
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["log"],
                    "properties": {
                        "log": {"type": "string"},
                        "command": {"type": "string"},
                        "release": {"type": "string"},
                    },
                }
            },
        },
    }
}


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    log: str
    command: str | None = None
    release: str | None = None


@router.post("/diagnose", responses=PROBLEMS, openapi_extra=_BODY)
async def diagnose(
    request: Request,
    command: Annotated[str, Query(description="The launch line, if known.")] = "",
    release: Annotated[str, Query(description="`package==version`, if known.")] = "",
) -> Response:
    """What went wrong in a log: plain text or JSON, also packed with gzip or zstd."""
    check_query(request, "command", "release")
    raw = await read_body(request)
    state = state_of(request)
    kind = request.headers.get("content-type", "")
    document = await state.logs.run(_answer, raw, kind, command, release, state.settings)
    return JSONResponse(document, headers={"Cache-Control": "no-store"})


def _answer(
    raw: bytes, content_type: str, command: str, release: str, settings: Settings
) -> dict[str, Any]:
    if content_type.partition(";")[0].strip().lower() == "application/json":
        asked = read_json(raw, _Asked)
        asked = asked.model_copy(update={"log": text_of(asked.log.encode())})
    else:
        asked = _Asked(log=text_of(raw), command=command, release=release)
    found = answer(asked.log, settings, command=asked.command or "", release=asked.release or "")
    return found.to_json()
