"""Home, the list and the entry pages, with their twins."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlmodel import Session
from starlette.responses import Response

from app.http.answers import HTML, MARKDOWN, NO_RUNS, Rendered, answer, moved, rendered
from app.http.state import state_of
from app.models import Entry
from app.services.entries import dataset_version, entry_record
from app.services.entry_page import EntryPage, entry_page
from app.services.facets import facets_of
from app.services.families import family_advice
from app.services.found_reasons import EVIDENCE, EVIDENCE_WORDS
from app.services.listing import ListQuery, list_errors
from app.services.renewal import LISTS_ONLY, names_of
from app.services.resolve import resolve
from app.services.scanning import scan_state
from app.services.single_file import single_file
from app.settings import Settings
from app.web.links import edit_file, edit_link, entry_report, report_link
from app.web.render import render, site_address

Builder = Callable[[Session, Entry, Settings], Rendered]
router = APIRouter(include_in_schema=False)


@router.get("/errors")
async def errors(request: Request, query: Annotated[ListQuery, Query()]) -> Response:
    """The list of errors."""
    state = state_of(request)
    scan = scan_state(state.settings)

    def build(db: Session) -> Rendered:
        found = list_errors(db, query, settings=state.settings)
        facets = facets_of(db)
        html = render(
            "errors.html",
            query=query,
            found=found,
            scan=scan,
            facets=facets,
            evidence=[(value, EVIDENCE_WORDS.get(value, value)) for value in EVIDENCE],
            site=site_address(state.settings),
        )
        return rendered(html, HTML, LISTS_ONLY)

    key = ("errors", query.model_dump_json(), scan)
    if scan is not None:  # what it says changes without a word in the catalog
        return answer(request, await state.answers.get(key, build))
    return await state.answers.respond(request, key, build)


@router.get("/errors/{key}.md")
async def entry_markdown(request: Request, key: str) -> Response:
    """The Markdown twin of an entry."""
    return await _entry(request, key, ".md", _markdown)


@router.get("/errors/{key}.py")
async def entry_reproducer(request: Request, key: str) -> Response:
    """An entry's hand-written reproducer as one file that runs with nothing but Python and pip."""
    return await _entry(request, key, ".py", _source)


@router.get("/errors/{key}")
async def entry(request: Request, key: str) -> Response:
    """The page of one error."""
    return await _entry(request, key, "", _page)


async def _entry(request: Request, key: str, ending: str, build_kind: Builder) -> Response:
    state = state_of(request)
    build = partial(_build, key, ending, build_kind, state.settings)
    return await state.answers.respond(request, ("entry", ending, key), build)


def _build(key: str, ending: str, build_kind: Builder, settings: Settings, db: Session) -> Rendered:
    found = resolve(db, key)
    if found.moved:
        return moved(f"/errors/{found.canonical}{ending}")
    return build_kind(db, found.entry, settings)


def _page(db: Session, found: Entry, settings: Settings) -> Rendered:
    page = entry_page(entry_record(db, found, settings))
    html = render("entry.html", page=page, record=page.record, **_facts(db, page, settings))
    return rendered(html, HTML, names_of(db, found))


def _markdown(db: Session, found: Entry, settings: Settings) -> Rendered:
    page = entry_page(entry_record(db, found, settings))
    text = render("entry.md", page=page, record=page.record, **_facts(db, page, settings))
    return rendered(text, MARKDOWN, names_of(db, found))


def _facts(db: Session, page: EntryPage, settings: Settings) -> dict[str, object]:
    record = page.record
    why = record.documentation.removeprefix(record.meaning).strip()
    advice = None if record.explained else family_advice(record.background_tag)
    dataset = dataset_version(db)
    report = entry_report(page, dataset)
    return {
        "dataset": dataset,
        "site": site_address(settings),
        "why": why,
        "advice": advice,
        "edit_file": edit_file(page),
        "edit_link": edit_link(page, settings),
        "report": report,
        "report_link": report_link(f"Page of {record.slug or record.id}", report, settings),
    }


def _source(db: Session, found: Entry, settings: Settings) -> Rendered:
    source = single_file(db, found, settings)
    return rendered(source, "text/x-python; charset=utf-8", NO_RUNS)
