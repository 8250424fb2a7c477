"""What fits while somebody types, as a piece of a page: for the one box and the box in the bar."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from app.db import session
from app.http.forms import read_form, text_field
from app.http.state import state_of
from app.services.asking import asked
from app.settings import Settings
from app.web.render import render

router = APIRouter(include_in_schema=False)
_MOST = 1 << 20
_ADVICE = "Send the first lines only; what is typed is answered whole by the form."
_FIELDS = ("text", "q")


@router.post("/hits")
async def hits(request: Request) -> Response:
    """What a text is, and the entries that it may mean."""
    async with read_form(request, *_FIELDS, most=_MOST, advice=_ADVICE) as form:
        field = next((name for name in _FIELDS if form.get(name)), "text")
        text = text_field(form, field)
    state = state_of(request)
    html = await state.pages.run(_answer, text, field, state.settings)
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})


def _answer(text: str, field: str, settings: Settings) -> str:
    with session(settings) as db:
        found = asked(db, text, settings)
    return render("hits.html", said=found.said, kind=found.kind, records=found.records, field=field)
