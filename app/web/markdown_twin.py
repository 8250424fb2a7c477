"""The Markdown twin of an entry page, for the web, the command line and MCP alike."""

from app.services.entry_page import EntryPage
from app.web.render import render


def markdown_twin(page: EntryPage, dataset: str) -> str:
    """One entry as Markdown."""
    record = page.record
    why = record.documentation.removeprefix(record.meaning).strip()
    return render("entry.md", page=page, record=record, why=why, dataset=dataset)
