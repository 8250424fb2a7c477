"""`POST /api/errors/{id}/runs`, `/api/runs/{id}` and its events."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse

from app.db import session
from app.http.answers import answer, json_answer
from app.http.bodies import read_body
from app.http.events import run_events
from app.http.faults import check_query, read_json
from app.http.permission import check_may_run
from app.http.problems import PROBLEMS
from app.http.running import start_runs
from app.http.state import state_of
from app.models import Public
from app.services.records import RunNow, RunRecord
from app.services.run_records import run_now
from app.services.run_start import Wanted
from app.settings import Settings

router = APIRouter(prefix="/api", tags=["runs"])


class Queued(Public):
    """The runs that were started; follow `events` or ask again until `state` is `done`."""

    runs: list[RunRecord]


_BODY: dict[str, Any] = {
    "requestBody": {"content": {"application/json": {"schema": Wanted.model_json_schema()}}}
}
_MOST = 64 << 10
_DIGITS = 15


@router.post(
    "/errors/{key}/runs",
    status_code=202,
    response_model=Queued,
    responses=PROBLEMS,
    openapi_extra=_BODY,
)
async def start(request: Request, key: str) -> Response:
    """Execute the reproducer of an error; only for the machine that the site runs on."""
    state = state_of(request)
    check_may_run(request, state.settings, f"reprobase run {key}")
    check_query(request)
    raw = await read_body(
        request,
        most_raw=_MOST,
        most_unpacked=_MOST,
        advice="The body of a run is {step, subject, device}, or empty.",
    )
    wanted = read_json(raw, Wanted) if raw.strip() else Wanted()
    runs = await run_in_threadpool(start_runs, state, key, wanted)
    return JSONResponse(
        json.loads(Queued(runs=runs).model_dump_json(by_alias=True)),
        status_code=202,
        headers={"Location": f"/api/runs/{runs[0].id}", "Cache-Control": "no-store"},
    )


@router.get("/runs/{run_id}", response_model=RunNow, responses=PROBLEMS)
async def run(request: Request, run_id: str) -> Response:
    """One run."""
    record = await run_in_threadpool(_record, state_of(request).settings, run_id)
    return answer(request, json_answer(record))


@router.get(
    "/runs/{run_id}/events",
    responses={200: {"content": {"text/event-stream": {}}}, **PROBLEMS},
)
async def events(request: Request, run_id: str) -> Response:
    """What happens in a run, as server-sent events; the last one is `done` with the record."""
    state = state_of(request)
    settings = state.settings
    await run_in_threadpool(_record, settings, run_id)
    state.streams.check()
    after = request.headers.get("last-event-id", "")
    start_at = int(after) if after.isdecimal() and len(after) <= _DIGITS else 0
    return StreamingResponse(
        state.streams.counted(run_events(settings, run_id, start_at)),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _record(settings: Settings, run_id: str) -> RunNow:
    with session(settings) as db:
        return run_now(db, run_id, settings)
