"""For those who operate the site: is it alive, is it ready, what has it done."""

import os

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from sqlmodel import Session, col, func, select
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.db import session
from app.exceptions import ReprobaseError
from app.http.metrics import CONTENT_TYPE, Metric, free_space, gauge, text
from app.http.problems import problem_of
from app.http.state import State, state_of
from app.models import Entry, Release, Run
from app.services.scanning import scan_state
from app.settings import Settings

router = APIRouter(include_in_schema=False)
_FRESH = {"Cache-Control": "no-store"}
_ABOUT = {
    "entries": "Errors in the catalog.",
    "releases": "Scanned releases.",
    "runs": "Runs that are kept.",
    "runs_waiting": "Runs that wait or go on.",
}


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
    """What this worker has answered and what the catalog holds, in the Prometheus text format."""
    state = state_of(request)
    said = text(await run_in_threadpool(_metrics, state))
    return PlainTextResponse(said, media_type=CONTENT_TYPE, headers=_FRESH)


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


def _metrics(state: State) -> list[Metric]:
    try:
        with session(state.settings) as db:
            counts = _counted(db)
            outcomes = select(Run.outcome, func.count()).where(Run.state == "done")
            runs = dict(db.exec(outcomes.group_by(col(Run.outcome))).all())
    except ReprobaseError:
        counts, runs = {}, {}
    by_outcome = Metric("runs_by_outcome", "gauge", "Finished runs that are kept.")
    by_outcome.samples = [
        ("", {"outcome": k or "none"}, n) for k, n in sorted(runs.items(), key=str)
    ]
    scan = scan_state(state.settings)
    return [
        *state.counters.metrics(),
        gauge(
            "kept_answers_bytes",
            "What kept pages take of the worker's memory.",
            state.answers.kept_bytes,
            {"worker": os.getpid()},
        ),
        gauge("up", "1 while the database answers.", 1 if counts else 0),
        *(gauge(name, _ABOUT[name], number) for name, number in counts.items()),
        *([by_outcome] if runs else []),
        gauge("scan_running", "1 during the first scan.", 1 if scan and not scan.failed else 0),
        *free_space(state.settings),
    ]


def _counts(settings: Settings) -> dict[str, float]:
    with session(settings) as db:
        return _counted(db)


def _counted(db: Session) -> dict[str, float]:
    waiting = select(func.count()).select_from(Run).where(Run.state != "done")
    return {
        "entries": db.exec(select(func.count()).select_from(Entry)).one(),
        "releases": db.exec(select(func.count()).select_from(Release)).one(),
        "runs": db.exec(select(func.count()).select_from(Run)).one(),
        "runs_waiting": db.exec(waiting).one(),
    }
