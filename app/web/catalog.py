"""Releases and families as pages."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlmodel import Session
from starlette.responses import Response

from app.http.answers import HTML, NO_RUNS, Rendered, answer, rendered
from app.http.faults import check_query
from app.http.state import state_of
from app.services.cursors import MOST
from app.services.diff import release_diff
from app.services.families import family_list, family_page
from app.services.releases import release_list, release_page
from app.services.renewal import LISTS_ONLY
from app.services.scanning import scan_state
from app.web.render import render, site_address

Page = Annotated[int, Query(ge=1, le=MOST)]
router = APIRouter(include_in_schema=False)


@router.get("/families")
async def families(request: Request) -> Response:
    """All failure classes."""
    site = site_address(state_of(request).settings)

    def build(db: Session) -> Rendered:
        return rendered(render("families.html", found=family_list(db), site=site), HTML, NO_RUNS)

    return await state_of(request).answers.respond(request, "families", build)


@router.get("/families/{tag}")
async def family(request: Request, tag: str, page: Page = 1) -> Response:
    """One failure class."""
    check_query(request, "page")

    site = site_address(state_of(request).settings)

    def build(db: Session) -> Rendered:
        found = family_page(db, tag, page=page)
        return rendered(render("family.html", found=found, site=site), HTML, LISTS_ONLY)

    return await state_of(request).answers.respond(request, ("family", tag, page), build)


@router.get("/releases")
async def releases(request: Request) -> Response:
    """What is scanned."""
    state = state_of(request)
    scan = scan_state(state.settings)

    site = site_address(state_of(request).settings)

    def build(db: Session) -> Rendered:
        html = render("releases.html", found=release_list(db), scan=scan, site=site)
        return rendered(html, HTML, NO_RUNS)

    return answer(request, await state.answers.get(("releases", scan), build))


@router.get("/releases/{package}/diff")
async def diff(
    request: Request,
    package: str,
    *,
    older: Annotated[str, Query(alias="from")] = "",
    newer: Annotated[str, Query(alias="to")] = "",
    status: str = "",
    page: Page = 1,
) -> Response:
    """The difference of two releases."""
    check_query(request, "from", "to", "status", "page")

    site = site_address(state_of(request).settings)

    def build(db: Session) -> Rendered:
        found = release_diff(db, package, older, newer, status=status, page=page)
        return rendered(render("diff.html", found=found, site=site), HTML, LISTS_ONLY)

    key = ("diff", package, older, newer, status, page)
    return await state_of(request).answers.respond(request, key, build)


@router.get("/releases/{package}/{version}")
async def release(request: Request, package: str, version: str) -> Response:
    """One scanned release."""
    site = site_address(state_of(request).settings)

    def build(db: Session) -> Rendered:
        found = release_page(db, package, version)
        return rendered(render("release.html", found=found, site=site), HTML, LISTS_ONLY)

    key = ("release", package, version)
    return await state_of(request).answers.respond(request, key, build)
