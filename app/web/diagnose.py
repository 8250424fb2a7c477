"""The page where a log is pasted or sent, and its answer."""

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, Response

from app.exceptions import CannotTellError, TooLargeError
from app.http.answers import HTML, answer, rendered
from app.http.bodies import MOST_UNPACKED, unpack
from app.http.state import state_of
from app.services.diagnosis_page import diagnosis_page
from app.settings import Settings
from app.web.render import render

router = APIRouter(include_in_schema=False)
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@router.get("/diagnose")
async def form(request: Request) -> Response:
    """An empty form."""
    return answer(request, rendered(render("diagnose.html", text="", command="", release=""), HTML))


@router.post("/diagnose")
async def diagnose(request: Request) -> Response:
    """What went wrong in a pasted log or in a file."""
    async with request.form(max_files=1, max_fields=20, max_part_size=MOST_UNPACKED) as form:
        text, command, release = (_field(form, n) for n in ("text", "command", "release"))
        file = form.get("file")
        if isinstance(file, UploadFile) and file.filename:
            text = await _text_of(file)
    if not text.strip():
        raise CannotTellError("There is nothing to diagnose: paste a log or choose a file.")
    html = await run_in_threadpool(_answer, text, command, release, state_of(request).settings)
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})


def _field(form: FormData, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""


async def _text_of(file: UploadFile) -> str:
    """A file as text, unpacked if it is packed.

    Raises:
        TooLargeError: it is over the limit, or becomes so.
        BadInputError: it is damaged.
    """
    raw = await file.read(MOST_UNPACKED + 1)
    if len(raw) > MOST_UNPACKED:
        raise TooLargeError(
            f"The file is larger than {MOST_UNPACKED >> 20} MB; "
            "`reprobase diagnose FILE` reads logs of any size."
        )
    encoding = next((name for magic, name in _MAGIC.items() if raw.startswith(magic)), None)
    if encoding:
        raw = await run_in_threadpool(unpack, raw, encoding)
    return raw.decode("utf-8", "replace")


def _answer(text: str, command: str, release: str, settings: Settings) -> str:
    page = diagnosis_page(text, settings, command=command, release=release)
    return render("diagnosis.html", page=page, release=release)
