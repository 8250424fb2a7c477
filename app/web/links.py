"""Where a page can be mended: the file behind it, and a report with the environment filled in."""

import platform
from importlib.metadata import version
from urllib.parse import urlencode

from app.services.entry_page import EntryPage
from app.services.run_records import RunPage
from app.settings import Settings

_LONGEST, _LONGEST_TITLE = 2_000, 120
"""Characters: the whole has to be an address that every browser and host takes."""


def edit_file(page: EntryPage) -> str | None:
    """The file that holds the text of an entry, from the project's root."""
    return f"data/errors/{page.record.slug}.md" if page.record.explained else None


def edit_link(page: EntryPage, settings: Settings) -> str | None:
    """Where that file is edited; None without a repository or without a file."""
    file = edit_file(page)
    if not settings.repository_url or file is None:
        return None
    return f"{settings.repository_url}/edit/main/{file}"


def report_link(title: str, report: str, settings: Settings) -> str | None:
    """A new issue of the repository, title and text filled in; None without a repository."""
    if not settings.repository_url:
        return None
    query = urlencode({"title": title[:_LONGEST_TITLE], "body": report[:_LONGEST]})
    return f"{settings.repository_url}/issues/new?{query}"


def entry_report(page: EntryPage, dataset: str) -> str:
    """The environment of an entry page, and what to add to it."""
    record = page.record
    run = page.trigger
    facts = [
        f"Entry: {record.slug or record.id} ({record.id})",
        f"Release: {record.package} {record.analyzed_release or '(none scanned)'}",
        f"Catalog: {dataset}",
        *_here(),
    ]
    if run is not None:
        facts.append(_of_run(run.id, run.subject, run.device, run.torch, run.python))
    return _report("What is wrong on the page, and what did you see instead?", facts)


def run_report(page: RunPage) -> str:
    """The environment of a run, and what to add to it."""
    run = page.run
    facts = [
        f"Entry: {page.slug}",
        *_here(),
        _of_run(run.id, run.subject, run.device, run.torch, run.python),
        f"Outcome: {run.step} {run.outcome or run.state}; {run.reason or run.message or ''}",
        f"Command: {page.command}",
    ]
    return _report("What did you expect of this run?", facts)


def _here() -> list[str]:
    return [
        f"Reprobase: {version('reprobase')}",
        f"System: {platform.system()} {platform.release()} {platform.machine()}",
    ]


def _of_run(run_id: str, subject: str, device: str, torch: str | None, python: str | None) -> str:
    return f"Run: {run_id} on {subject}, {device}, torch {torch}, Python {python}"


def _report(question: str, facts: list[str]) -> str:
    listed = "\n".join(f"- {fact}" for fact in facts)
    return f"{question}\n\n\n\nEnvironment\n{listed}\n- Your GPU and driver:\n- Your launch line:\n"
