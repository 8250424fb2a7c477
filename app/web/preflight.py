"""The page where a launch line is checked, and its answer."""

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from sqlmodel import Session
from starlette.responses import HTMLResponse, Response

from app.db import session
from app.http.answers import HTML, NO_RUNS, Rendered, answer, rendered
from app.http.forms import file_field, read_form, text_field
from app.http.preflights import ADVICE, MOST_CONFIG, check_preflight_allowed, preflight
from app.http.state import State, state_of
from app.preflight.gpus import GPUS
from app.services.releases import known_versions
from app.settings import Settings
from app.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/preflight")
async def form(request: Request) -> Response:
    """An empty form."""
    state = state_of(request)

    def build(db: Session) -> Rendered:
        facts = _choices(db, state.settings)
        html = render("preflight.html", **facts, line="", release="", gpu="")
        return rendered(html, HTML, NO_RUNS)

    return answer(request, await state.answers.get("preflight", build))


@router.post("/preflight")
async def check(
    request: Request,
) -> Response:
    """What the release says to a line."""
    check_preflight_allowed(request)
    names = ("text", "release", "gpu", "config", "given", "since")
    async with read_form(request, *names, most=MOST_CONFIG, advice=ADVICE) as form:
        text, release, gpu = (text_field(form, name) for name in names[:3])
        since = bool(text_field(form, "since"))
        file = file_field(form, "config")
        given = text_field(form, "given")
        if file:
            given = (await file.read(MOST_CONFIG + 1)).decode("utf-8", "replace")
    wanted = {"line": text, "release": release, "gpu": gpu, "config": given}
    html = await run_in_threadpool(_answer, state_of(request), wanted, since=since)
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})


def _answer(state: State, wanted: dict[str, str], *, since: bool) -> str:
    report = preflight(state, **wanted, since=since)
    with session(state.settings) as db:
        facts = _choices(db, state.settings)
    return render("preflight_report.html", report=report, **wanted, **facts)


def _choices(db: Session, settings: Settings) -> dict[str, object]:
    return {
        "releases": known_versions(db, "sglang", settings),
        "gpus": list(GPUS.items()),
        "default": settings.default_release,
    }
