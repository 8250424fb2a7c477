"""`/api/releases`: what is scanned, one release, the difference of two."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlmodel import Session
from starlette.responses import Response

from app.http.answers import NO_RUNS, Rendered, json_answer
from app.http.faults import check_query
from app.http.problems import PROBLEMS
from app.http.state import state_of
from app.services.cursors import MOST
from app.services.diff import ReleaseDiff, release_diff
from app.services.releases import ReleaseList, ReleasePage, release_list, release_page
from app.services.renewal import LISTS_ONLY

Page = Annotated[int, Query(ge=1, le=MOST)]
router = APIRouter(prefix="/api/releases", tags=["releases"])


@router.get("", response_model=ReleaseList)
async def releases(request: Request) -> Response:
    """The scanned releases, and how many errors each has by area."""

    def build(db: Session) -> Rendered:
        return json_answer(release_list(db), NO_RUNS)

    return await state_of(request).answers.respond(request, "api-releases", build)


@router.get("/{package}/diff", response_model=ReleaseDiff, responses=PROBLEMS)
async def diff(
    request: Request,
    package: str,
    *,
    older: Annotated[str, Query(alias="from")] = "",
    newer: Annotated[str, Query(alias="to")] = "",
    status: str = "",
    page: Page = 1,
) -> Response:
    """What is new, moved, reworded or gone between two releases; the newest two by default.

    With `status` only that kind is listed, page by page.
    """
    check_query(request, "from", "to", "status", "page")

    def build(db: Session) -> Rendered:
        found = release_diff(db, package, older, newer, status=status, page=page)
        return json_answer(found, LISTS_ONLY)

    key = ("api-diff", package, older, newer, status, page)
    return await state_of(request).answers.respond(request, key, build)


@router.get("/{package}/{version}", response_model=ReleasePage, responses=PROBLEMS)
async def release(request: Request, package: str, version: str) -> Response:
    """One release: its counts, what could not be read, what changed in it."""

    def build(db: Session) -> Rendered:
        return json_answer(release_page(db, package, version), LISTS_ONLY)

    key = ("api-release", package, version)
    return await state_of(request).answers.respond(request, key, build)
