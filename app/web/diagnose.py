"""The page where a log is pasted or sent, and its answer."""

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, Response

from app.exceptions import CannotTellError, TooLargeError
from app.http.answers import HTML, answer, rendered
from app.http.bodies import ADVICE, MOST_UNPACKED, text_of
from app.http.forms import file_field, read_form, text_field
from app.http.state import state_of
from app.http.turns import Turns
from app.services.diagnosis_page import diagnosis_page
from app.settings import Settings
from app.web.render import render

router = APIRouter(include_in_schema=False)


@router.get("/diagnose")
async def form(request: Request) -> Response:
    """An empty form."""
    return answer(request, rendered(render("diagnose.html", text="", command="", release=""), HTML))


@router.post("/diagnose")
async def diagnose(request: Request) -> Response:
    """What went wrong in a pasted log or in a file."""
    names = ("text", "command", "release", "file")
    turns = state_of(request).logs
    async with read_form(request, *names, most=MOST_UNPACKED, advice=ADVICE) as form:
        text, command, release = (text_field(form, name) for name in names[:3])
        file = file_field(form, "file")
        if file is not None:
            text = await _text_of(file, turns)
        elif text:
            text = await turns.run(text_of, text.encode("utf-8", "replace"))
    if not text.strip():
        raise CannotTellError("There is nothing to diagnose: paste a log or choose a file.")
    html = await turns.run(_answer, text, command, release, state_of(request).settings)
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})


async def _text_of(file: UploadFile, turns: Turns) -> str:
    """A file as text, unpacked if it is packed.

    Raises:
        TooLargeError: it is over the limit, or becomes so.
        BadInputError: it is damaged, or no text.
    """
    raw = await file.read(MOST_UNPACKED + 1)
    if len(raw) > MOST_UNPACKED:
        raise TooLargeError(f"The file is larger than {MOST_UNPACKED >> 20} MB. {ADVICE}")
    return await turns.run(text_of, raw)


def _answer(text: str, command: str, release: str, settings: Settings) -> str:
    page = diagnosis_page(text, settings, command=command, release=release)
    return render("diagnosis.html", page=page, release=release)
