"""For readers that are no browsers: `llms.txt`, the feed, the sitemap, `robots.txt`."""

from collections.abc import Callable

from fastapi import APIRouter, Request
from sqlmodel import Session, col, select
from starlette.responses import PlainTextResponse, Response

from app.http.answers import NO_RUNS, Rendered, answer, rendered
from app.http.state import state_of
from app.models import Change, Entry, Release
from app.services.entries import dataset_version
from app.services.family_files import families
from app.services.listing import current, summaries
from app.services.renewal import LISTS_ONLY
from app.services.times import utc_text
from app.web.render import render, site_address

Facts = Callable[[Session], dict[str, object]]
router = APIRouter(include_in_schema=False)
_FEED = 60
_SITEMAP = 45_000


@router.get("/llms.txt")
async def llms(request: Request) -> Response:
    """What is here for a language model, and how to ask for it."""
    return await _text(
        request, "llms", "llms.txt", "text/plain; charset=utf-8", _explained, rows=True
    )


@router.get("/feed.atom")
async def feed(request: Request) -> Response:
    """New and changed errors, newest first."""
    return await _text(request, "feed", "feed.xml", "application/atom+xml; charset=utf-8", _news)


@router.get("/sitemap.xml")
async def sitemap(request: Request) -> Response:
    """Every page."""
    return await _text(request, "sitemap", "sitemap.xml", "application/xml", _everything)


@router.get("/robots.txt")
async def robots(request: Request) -> Response:
    """All pages may be read; runs are not for crawlers."""
    base = _base(request)
    return PlainTextResponse(
        f"User-agent: *\nDisallow: /runs/\nDisallow: /api/runs/\n\nSitemap: {base}/sitemap.xml\n"
    )


async def _text(
    request: Request, key: str, template: str, media_type: str, facts: Facts, *, rows: bool = False
) -> Response:
    base = _base(request)

    def build(db: Session) -> Rendered:
        text = render(template, base=base, dataset=dataset_version(db), **facts(db))
        return rendered(text, media_type, LISTS_ONLY if rows else NO_RUNS)

    return answer(request, await state_of(request).answers.get((key, base), build))


def _base(request: Request) -> str:
    """The address that links to the site begin with; these formats need whole ones."""
    return site_address(state_of(request).settings) or str(request.base_url).rstrip("/")


def _explained(db: Session) -> dict[str, object]:
    wanted = select(Entry).where(col(Entry.explained)).order_by(col(Entry.slug))
    return {"entries": summaries(db, list(db.exec(wanted))), "families": list(families().values())}


def _news(db: Session) -> dict[str, object]:
    wanted = (
        select(Entry, Change.status, Release)
        .join(Change, col(Change.entry_id) == col(Entry.id))
        .join(Release, col(Release.id) == col(Change.release_id))
        .where(col(Change.status).in_(("new", "reworded", "classChanged")))
        .order_by(col(Release.scanned_at).desc(), col(Entry.explained).desc(), col(Entry.template))
        .limit(_FEED)
    )
    news = [
        {
            "entry": entry,
            "status": status,
            "release": f"{release.package} {release.version}",
            "when": utc_text(release.scanned_at),
        }
        for entry, status, release in db.exec(wanted)
    ]
    explained = db.exec(select(Entry).where(col(Entry.explained)).order_by(col(Entry.slug)))
    known = [] if news else list(explained)
    return {"news": news, "known": known}


def _everything(db: Session) -> dict[str, object]:
    wanted = select(Entry.id, Entry.slug).where(current())
    wanted = wanted.order_by(col(Entry.explained).desc(), col(Entry.id))
    releases = select(Release).order_by(Release.package, col(Release.ordinal))
    return {
        "keys": [slug or found for found, slug in db.exec(wanted.limit(_SITEMAP))],
        "tags": list(families()),
        "releases": list(db.exec(releases)),
    }
