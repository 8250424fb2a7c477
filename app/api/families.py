"""`/api/families` and `/api/families/{tag}`."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlmodel import Session
from starlette.responses import Response

from app.http.answers import NO_RUNS, Rendered, json_answer
from app.http.faults import check_query
from app.http.problems import PROBLEMS
from app.http.state import state_of
from app.services.cursors import MOST
from app.services.families import FamilyList, FamilyPage, family_list, family_page
from app.services.renewal import LISTS_ONLY

Page = Annotated[int, Query(ge=1, le=MOST)]
router = APIRouter(prefix="/api/families", tags=["families"])


@router.get("", response_model=FamilyList)
async def families(request: Request) -> Response:
    """The failure classes, with how many errors of each package are in them."""
    check_query(request)

    def build(db: Session) -> Rendered:
        return json_answer(family_list(db), NO_RUNS)

    return await state_of(request).answers.respond(request, "api-families", build)


@router.get("/{tag}", response_model=FamilyPage, responses=PROBLEMS)
async def family(request: Request, tag: str, page: Page = 1) -> Response:
    """One failure class: what it is, how to tell it apart, its errors by package."""
    check_query(request, "page")

    def build(db: Session) -> Rendered:
        return json_answer(family_page(db, tag, page=page), LISTS_ONLY)

    return await state_of(request).answers.respond(request, ("api-family", tag, page), build)
