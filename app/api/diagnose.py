"""`POST /api/diagnose`: what went wrong in a log."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import JSONResponse, Response

from app.exceptions import BadInputError
from app.http.bodies import read_body
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
    raw = await read_body(request)
    settings = state_of(request).settings
    document = await run_in_threadpool(
        _answer, raw, request.headers.get("content-type", ""), command, release, settings
    )
    return JSONResponse(document, headers={"Cache-Control": "no-store"})


def _answer(
    raw: bytes, content_type: str, command: str, release: str, settings: Settings
) -> dict[str, Any]:
    asked = _Asked(log="", command=command, release=release)
    if content_type.partition(";")[0].strip().lower() == "application/json":
        try:
            asked = _Asked.model_validate(json.loads(raw))
        except UnicodeDecodeError as e:
            raise BadInputError("The body is not UTF-8.") from e
        except ValidationError as e:
            first = e.errors()[0]
            name = ".".join(str(part) for part in first["loc"]) or "body"
            raise BadInputError(
                f"{name}: {first['msg']}. The body is {{log, command, release}}."
            ) from e
        except ValueError as e:
            raise BadInputError(f"The body is not JSON: {e}.") from e
    else:
        asked.log = raw.decode("utf-8", "replace")
    found = answer(asked.log, settings, command=asked.command or "", release=asked.release or "")
    return found.to_json()
