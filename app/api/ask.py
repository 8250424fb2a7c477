"""`POST /api/ask`: what a text is, and what fits, while it is typed."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.db import session
from app.http.bodies import read_body
from app.http.faults import check_query
from app.http.problems import PROBLEMS
from app.http.state import state_of
from app.services.asking import Asked, asked
from app.settings import Settings

router = APIRouter(prefix="/api", tags=["errors"])
_MOST = 1 << 20
_ADVICE = "Send the first lines only; POST /api/diagnose takes whole logs."


@router.post("/ask", response_model=Asked, responses=PROBLEMS)
async def ask(request: Request) -> Response:
    """Whether a text (text/plain) is a log, a launch line or words, and the entries that fit."""
    check_query(request)
    raw = await read_body(request, most_raw=_MOST, most_unpacked=_MOST, advice=_ADVICE)
    text = raw.decode("utf-8", "replace")
    state = state_of(request)
    found = await state.pages.run(_asked, text, state.settings)
    return Response(
        found.model_dump_json(by_alias=True),
        media_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def _asked(text: str, settings: Settings) -> Asked:
    with session(settings) as db:
        return asked(db, text, settings)
