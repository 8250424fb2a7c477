"""The page of a run, and the form that starts one."""

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from app.db import session
from app.exceptions import BadInputError
from app.http.answers import HTML, Rendered, answer, rendered
from app.http.faults import said_of
from app.http.forms import read_form
from app.http.permission import check_may_run
from app.http.running import start_runs
from app.http.state import state_of
from app.services.reproducers import find_reproducer
from app.services.run_records import RunPage, run_page
from app.services.run_start import Wanted
from app.settings import Settings
from app.web.links import report_link, run_report
from app.web.render import render

router = APIRouter(include_in_schema=False)
_MOST = 64 << 10


@router.post("/errors/{key}/runs")
async def start(request: Request, key: str) -> Response:
    """Start the runs of an entry and show the page of the first."""
    state = state_of(request)
    check_may_run(request, state.settings, f"reprobase run {key}")
    names = tuple(Wanted.model_fields)
    async with read_form(request, *names, most=_MOST, advice="A run needs no long text.") as form:
        given = {name: value for name in names if isinstance(value := form.get(name), str)}
    try:
        wanted = Wanted.model_validate(given)
    except ValidationError as e:
        raise BadInputError(said_of(e.errors(), names)) from e
    runs = await run_in_threadpool(start_runs, state, key, wanted)
    return RedirectResponse(f"/runs/{runs[0].id}", status_code=303)


@router.get("/runs/{run_id}")
async def run(request: Request, run_id: str) -> Response:
    """One run, with the one it was started together with."""
    settings = state_of(request).settings
    made = await run_in_threadpool(_page, settings, run_id, "run.html")
    return answer(request, made)


@router.get("/runs/{run_id}/cards")
async def cards(request: Request, run_id: str) -> Response:
    """Only the runs' cards: what a script puts into the page that started them."""
    settings = state_of(request).settings
    made = await run_in_threadpool(_page, settings, run_id, "cards.html")
    return answer(request, made)


def _page(settings: Settings, run_id: str, template: str) -> Rendered:
    with session(settings) as db:
        page = run_page(db, run_id, settings)
    report = run_report(page)
    title = f"{page.slug}: {page.run.step} on {page.run.subject}"
    html = render(
        template,
        page=page,
        code=_code(page),
        report=report,
        report_link=report_link(title, report, settings),
    )
    return rendered(html, HTML)


def _code(page: RunPage) -> dict[str, str]:
    """The reproducer's code by step."""
    file = find_reproducer(page.run.slug)
    return {"trigger": file.trigger, "fix": file.fix} if file else {"trigger": "", "fix": ""}
