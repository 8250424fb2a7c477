"""`/api/errors` and `/api/errors/{id or slug}`."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from sqlmodel import Session
from starlette.responses import Response

from app.http.answers import Rendered, json_answer, moved
from app.http.problems import PROBLEMS
from app.http.state import state_of
from app.services.cursors import MOST
from app.services.entries import entry_document
from app.services.listing import PAGE_SIZE, ListQuery, list_errors
from app.services.records import EntryDocument, SummaryPage
from app.services.renewal import LISTS_ONLY, names_of
from app.services.resolve import resolve

router = APIRouter(prefix="/api/errors", tags=["errors"])


class ListParameters(ListQuery):
    """The filters of the list, and how to walk through it."""

    limit: int = Field(default=PAGE_SIZE, le=MOST, description="Rows a page, 1 to 200.")
    cursor: str | None = Field(default=None, description="`next` of the page before.")


@router.get("", response_model=SummaryPage, responses=PROBLEMS)
async def errors(request: Request, query: Annotated[ListParameters, Query()]) -> Response:
    """The errors that all filters let through, explained ones first, or best match first with q."""
    state = state_of(request)

    def build(db: Session) -> Rendered:
        limit, cursor = query.limit, query.cursor
        found = list_errors(db, query, limit=limit, cursor=cursor, settings=state.settings)
        return json_answer(found, LISTS_ONLY)

    return await state.answers.respond(request, ("api-errors", query.model_dump_json()), build)


@router.get("/{key}", response_model=EntryDocument, responses=PROBLEMS)
async def entry(
    request: Request, key: Annotated[str, Path(description="An id, a slug or an older one.")]
) -> Response:
    """Everything that is known of one error; an older id or slug answers with 308."""
    state = state_of(request)

    def build(db: Session) -> Rendered:
        found = resolve(db, key)
        if found.moved:
            return moved(f"/api/errors/{found.canonical}")
        document = entry_document(db, found.entry, state.settings)
        return json_answer(document, names_of(db, found.entry))

    return await state.answers.respond(request, ("api-entry", key), build)
