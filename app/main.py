"""The application: every route, what stands around them, and how errors of our own are answered."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from app.api import ROUTERS as API_ROUTERS
from app.api.errors import ListParameters
from app.db import engine_for
from app.exceptions import NotFoundError, ReprobaseError
from app.http.answers import Answers
from app.http.events import Streams
from app.http.faults import field_names, said_of
from app.http.gate import Gate
from app.http.hosts import Hosts
from app.http.layers import Around
from app.http.memory import few_heaps
from app.http.metrics import Counters
from app.http.problems import headers_of, problem, problem_of, wants_json
from app.http.ready import Ready
from app.http.routes import offered, without_slash
from app.http.state import State, state_of
from app.http.turns import logs, pages
from app.mcp.http import Endpoint
from app.services.indexing import Indexer
from app.services.listing import ListQuery
from app.services.preflight_warm import WarmPool
from app.services.run_worker import RunWorker
from app.services.scanning import scan_state
from app.settings import Settings, load_settings
from app.web import ROUTERS as WEB_ROUTERS
from app.web.trouble import trouble_page

ROUTE_FIELDS = {"/errors": field_names(ListQuery), "/api/errors": field_names(ListParameters)}
"""What may stand in a query, to name it where something else did."""
log = logging.getLogger(__name__)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Make the application.

    Args:
        settings: what the environment decides; read from it if None.

    Raises:
        UnavailableError: the database cannot be opened.
    """
    settings = settings or load_settings()
    engine_for(settings)
    runs = RunWorker(settings)
    preflight = WarmPool()
    indexer = Indexer(settings)

    counters = Counters()
    making = pages()
    answers = Answers(settings, making)
    state = State(settings, answers, counters, runs, preflight, making, logs(), Streams())
    mcp = Endpoint(state)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        few_heaps()
        async with mcp.running():
            yield
        runs.close()
        preflight.close()
        indexer.close()

    app = FastAPI(
        lifespan=lifespan,
        title="Reprobase",
        version="3",
        description="Errors of LLM serving engines, each with the run that proves it.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,  # our own answer is 308, for good
    )
    app.state.reprobase = state
    for router in (*API_ROUTERS, *WEB_ROUTERS):
        app.include_router(router)
    app.router.routes.append(mcp.route())
    hosts = Hosts(settings)
    app.add_middleware(Gate, settings=settings, hosts=hosts, refusal=_ours)
    app.add_middleware(Around, counters=counters, fault=_unexpected)
    app.add_middleware(Ready, answers=answers, counters=counters, hosts=hosts)
    app.add_exception_handler(ReprobaseError, _ours)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    return app


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, ReprobaseError)
    said = str(error)
    if isinstance(error, NotFoundError):
        said += _still_scanning(request)
    if wants_json(request):
        return problem_of(error, request, said)
    near = error.near if isinstance(error, NotFoundError) else ()
    return trouble_page(error.status, error.title, said, near, headers_of(error))


def _still_scanning(request: Request) -> str:
    """What to add for one who misses something while the catalog is being filled."""
    scan = scan_state(state_of(request).settings)
    if scan is None or scan.failed:
        return ""
    return f" The catalog is still being filled ({scan.said}); it may be there in a minute."


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == 404:  # noqa: PLR2004  # the status
        detail = f"There is no page at {request.url.path}."
        if (where := without_slash(request)) is not None:
            return RedirectResponse(where, status_code=308)
    elif error.status_code == 405:  # noqa: PLR2004  # the status
        headers["Allow"] = ", ".join(offered(request))
        detail = f"{request.method} is not offered at {request.url.path}."
    else:
        detail = str(error.detail)
    if wants_json(request):
        return problem(error.status_code, detail, headers=headers, instance=request.url.path)
    return trouble_page(error.status_code, None, detail, [], headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    said = said_of(error.errors(), ROUTE_FIELDS.get(request.scope["path"], ()))
    if wants_json(request):
        return problem(400, said, instance=request.url.path)
    return trouble_page(400, None, said, [])


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    said = "This is a fault of the site, not of your request. The server's log says more."
    if wants_json(request):
        return problem(500, said, instance=request.url.path)
    return trouble_page(500, None, said, [])
