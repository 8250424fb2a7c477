"""What goes over the wire: the entry record, its parts, the run record, the list.

Keys are the contract's, camelCase; the HTML page, the Markdown twin, the command line and MCP all
render these same objects.
"""

from typing import Any

from app.models import Public, RunBase
from app.services.synthesized_record import SynthesizedPage


class RunRecord(RunBase, Public):
    """One run, as stored."""

    id: str


class RunNow(RunRecord):
    """One run, and where it stands while it waits."""

    place: int | None = None
    """Which in the line it is, from 1; 0 if it follows its other half; None if it runs or ran."""


class HistoryStep(Public):
    """Where an entry stood in one release."""

    version: str
    status: str
    """new | same | moved | reworded | classChanged | gone."""
    file: str | None = None
    function: str | None = None
    line: int | None = None
    sites: int = 1
    """How many places of the release write this message."""


class Reproducer(Public):
    """How to see an error happen."""

    kind: str
    """handwritten | synthesized | none."""
    url: str | None = None
    command: str | None = None
    releases: str | None = None
    """Specifier of the releases that have the error, as its author declared it."""
    about: str = ""
    """The reproducer's own words: symptom and mechanism, Markdown."""
    trigger: str = ""
    """The code of its trigger."""
    fix: str = ""
    """The code of its fix."""


class Correction(Public):
    """What is commonly said, what the code does, and the check that shows it."""

    said: str
    code_does: str
    run: str
    """Id of the check or claim."""
    run_id: str | None = None
    """The newest run that recorded it; None if none did yet."""
    ok: bool | None = None


class ExampleFix(Public):
    """The smallest change."""

    language: str
    broken: str
    fixed: str


class Related(Public):
    """Another entry worth a look."""

    id: str
    slug: str | None = None
    error_class: str
    error_message: str
    why: str = ""


class EntryRecord(Public):
    """Everything that is known of one error (schema version 3)."""

    id: str
    aliases: list[str]
    package: str
    repo: str | None = None
    slug: str | None = None
    title: str | None = None
    error_code: str | None = None
    error_message: str
    condition: str
    """Stands in for a message that has no words of its own."""
    message_pattern: str
    holes: list[dict[str, Any]]
    error_type: str
    error_class: str
    http_status: int | None = None
    severity: str
    file_path: str | None = None
    line_number: int | None = None
    function: str | None = None
    source_code: str | None = None
    source_code_start: int | None = None
    source_code_end: int | None = None
    github_url: str | None = None
    guards: list[dict[str, Any]]
    documentation: str = ""
    meaning: str = ""
    trigger_scenarios: list[str]
    common_situations: list[str]
    solutions: list[str]
    example_fix: ExampleFix | None = None
    handling_strategy: str | None = None
    validation_code: str | None = None
    type_guard: str | None = None
    try_catch_pattern: str | None = None
    prevention_tips: list[str]
    not_this_if: list[str]
    corrections: list[Correction]
    tags: list[str]
    background_tag: str | None = None
    related: list[Related]
    history: list[HistoryStep]
    evidence: list[RunRecord]
    reproducer: Reproducer
    synthesized: SynthesizedPage | None = None
    """What the program found by itself; None if it never looked."""
    explained: bool
    source_license: str | None = None
    analyzed_release: str | None = None
    analyzed_sha: str | None = None
    analyzed_at: str | None = None
    schema_version: int


class EntryDocument(Public):
    """The answer of `/api/errors/{id or slug}`."""

    record: EntryRecord
    dataset_version: str


class Summary(Public):
    """One row of a list of entries."""

    id: str
    slug: str | None = None
    package: str
    error_class: str
    error_type: str
    error_message: str
    condition: str = ""
    severity: str
    background_tag: str | None = None
    explained: bool
    title: str | None = None
    file_path: str | None = None
    function: str | None = None
    line_number: int | None = None
    release: str | None = None
    """The newest scanned release that has it."""
    status: str | None = None
    """What happened to it in the release that was asked for."""
    verified: bool = False
    """It was executed on some release; see `app.services.evidence.executed_on`."""
    no_evidence: str | None = None
    """Why it was not: a code of `reproducers.protocol.SYNTHESIS_REASONS`; None if it was."""


class SummaryPage(Public):
    """The answer of `/api/errors`."""

    records: list[Summary]
    next: str | None = None
    """Opaque cursor of the next page; None on the last."""
    total: int
    dataset_version: str
