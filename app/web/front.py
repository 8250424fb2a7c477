"""Home, the one box, and the pages that explain the site."""

from fastapi import APIRouter, Request
from sqlmodel import Session
from starlette.responses import RedirectResponse, Response

from app.http.answers import HTML, Rendered, answer, rendered
from app.http.bodies import ADVICE as LOG_ADVICE
from app.http.bodies import MOST_UNPACKED
from app.http.forms import read_form, text_field
from app.http.state import state_of
from app.services.asking import kind_of
from app.services.home import home
from app.services.renewal import LISTS_ONLY
from app.services.scanning import scan_state
from app.web.render import address, render, site_address

router = APIRouter(include_in_schema=False)
_MOST_WORDS = 2000


@router.get("/")
async def front(request: Request) -> Response:
    """The first page."""
    state = state_of(request)
    scan = scan_state(state.settings)

    def build(db: Session) -> Rendered:
        site = site_address(state.settings)
        html = render("home.html", facts=home(db), scan=scan, site=site)
        return rendered(html, HTML, LISTS_ONLY)

    return answer(request, await state.answers.get(("home", scan), build))


@router.post("/ask")
async def ask(request: Request) -> Response:
    """What the one box was given: words lead to the list, the rest to where it is answered."""
    async with read_form(request, "text", most=MOST_UNPACKED, advice=LOG_ADVICE) as form:
        text = text_field(form, "text")
    kind = kind_of(text)
    if kind == "nothing":
        return RedirectResponse("/", status_code=303)
    if kind == "log":
        return RedirectResponse("/diagnose", status_code=307)
    if kind == "command":
        return RedirectResponse("/preflight", status_code=307)
    words = " ".join(text.split())[:_MOST_WORDS]
    return RedirectResponse(address("/errors", q=words), status_code=303)


@router.get("/about")
async def about(request: Request) -> Response:
    """What the site is, and what it does with what it is given."""
    return answer(request, rendered(render("about.html"), HTML))
