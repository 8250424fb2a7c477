"""For those who operate the site: is it alive, is it ready, what has it done."""

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from sqlmodel import func, select
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.db import session
from app.exceptions import ReprobaseError
from app.http.problems import problem_of
from app.http.state import state_of
from app.models import Entry, Release, Run
from app.services.scanning import scan_state
from app.settings import Settings

router = APIRouter(include_in_schema=False)
_FRESH = {"Cache-Control": "no-store"}


@router.get("/healthz")
async def healthz() -> Response:
    """The process answers."""
    return PlainTextResponse("ok\n", headers=_FRESH)


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """The database answers and holds entries."""
    try:
        counts = await run_in_threadpool(_counts, state_of(request).settings)
    except ReprobaseError as e:
        return problem_of(e, request)
    ready = counts["entries"] > 0
    said = "ready\n" if ready else "no entries yet: run `reprobase load`\n"
    return PlainTextResponse(said, status_code=200 if ready else 503, headers=_FRESH)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counters in the Prometheus text format, of this worker."""
    state = state_of(request)
    try:
        gauges = await run_in_threadpool(_counts, state.settings)
    except ReprobaseError:
        gauges = {}
    text = state.counters.text({"up": 1.0 if gauges else 0.0, **gauges})
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4", headers=_FRESH)


@router.get("/api/status")
async def status(request: Request) -> Response:
    """How far the first scan is; pages ask for it while it goes on."""
    scan = scan_state(state_of(request).settings)
    said = {"scanning": None}
    if scan is not None:
        return JSONResponse(
            {"scanning": {"release": scan.release, "said": scan.said, "failed": scan.failed}},
            headers=_FRESH,
        )
    return JSONResponse(said, headers=_FRESH)


def _counts(settings: Settings) -> dict[str, float]:
    with session(settings) as db:
        return {
            "entries": db.exec(select(func.count()).select_from(Entry)).one(),
            "releases": db.exec(select(func.count()).select_from(Release)).one(),
            "runs": db.exec(select(func.count()).select_from(Run)).one(),
            "runs_waiting": db.exec(
                select(func.count()).select_from(Run).where(Run.state != "done")
            ).one(),
        }
