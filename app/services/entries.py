"""One entry: everything that is known of it, put together from wheels, files and runs."""

from typing import Any

from sqlmodel import Session, select

from app.db import read_meta
from app.knowledge.entry_file import EntryFile
from app.models import SCHEMA_VERSION, Alias, Entry, Explanation, Run
from app.scanner.packages import package_facts
from app.scanner.templates import Hole, parse
from app.services.evidence import newest_runs, runs_of
from app.services.history import Place, life_of
from app.services.records import (
    Correction,
    EntryDocument,
    EntryRecord,
    ExampleFix,
    Reproducer,
    RunRecord,
)
from app.services.reproducers import find_reproducer
from app.services.resolve import all_ids
from app.services.sources import pinned_link, repository_file, source_of, wheel_at_hand
from app.services.synthesized import synthesized_page
from app.services.times import utc_text
from app.settings import Settings


def entry_document(db: Session, entry: Entry, settings: Settings) -> EntryDocument:
    """The record of an entry and the version of the catalog it was read from."""
    return EntryDocument(
        record=entry_record(db, entry, settings), dataset_version=dataset_version(db)
    )


def dataset_version(db: Session) -> str:
    """When the catalog last changed, UTC ISO 8601."""
    return read_meta(db, "dataset") or "1970-01-01T00:00:00Z"


def explanation_of(db: Session, entry: Entry) -> EntryFile | None:
    """What people wrote about an entry, or None."""
    if entry.slug is None:
        return None
    row = db.get(Explanation, entry.slug)
    return EntryFile.model_validate(row.content) if row else None


def entry_record(db: Session, entry: Entry, settings: Settings) -> EntryRecord:
    """The complete record of one entry."""
    from app.services.indexing import deferred  # noqa: PLC0415  # its rules take a while to load
    from app.services.related import related_of  # noqa: PLC0415  # its rules take a while to load

    text = explanation_of(db, entry)
    rows = runs_of(db, entry)
    runs = [RunRecord.model_validate(run) for run in rows]
    life = life_of(db, entry, rows)
    place = life.newest
    source = source_of(entry.package, place, settings) if place else None
    release = place.release if place else None
    facts = text.facts if text else None
    return EntryRecord(
        id=entry.id,
        aliases=_aliases(db, entry),
        package=entry.package,
        repo=package_facts(entry.package).repository,
        slug=entry.slug,
        title=text.title if text else None,
        error_code=facts.error_code if facts else None,
        error_message=entry.template,
        condition=entry.condition,
        message_pattern=entry.pattern,
        holes=place.holes if place and place.holes is not None else template_holes(entry.template),
        error_type=entry.error_type,
        error_class=entry.error_class,
        http_status=entry.http_status,
        severity=entry.severity,
        file_path=repository_file(entry.package, place.file) if place else None,
        line_number=place.line if place else None,
        function=place.function if place else None,
        source_code=source.code if source else None,
        source_code_start=source.start if source else None,
        source_code_end=source.end if source else None,
        github_url=pinned_link(entry.package, place) if place else None,
        guards=place.guards if place else [],
        meaning=text.lead if text else "",
        documentation=f"{text.lead}\n\n{text.why}" if text else "",
        trigger_scenarios=text.trigger_scenarios if text else [],
        common_situations=text.common_situations if text else [],
        solutions=[f"**{s.title}.** {s.text}" for s in text.solutions] if text else [],
        example_fix=ExampleFix.model_validate(text.example_fix, from_attributes=True)
        if text and text.example_fix
        else None,
        handling_strategy=facts.handling_strategy if facts else None,
        validation_code=text.validation_code if text else None,
        type_guard=text.type_guard if text else None,
        try_catch_pattern=text.try_and_except if text else None,
        prevention_tips=text.prevention_tips if text else [],
        not_this_if=text.not_this_if if text else [],
        corrections=_corrections(text, runs),
        tags=facts.tags if facts else [],
        background_tag=entry.family,
        related=related_of(db, entry.id, settings, old=deferred(db, settings)),
        history=life.steps,
        evidence=newest_runs(runs),
        reproducer=_reproducer(entry, runs),
        synthesized=synthesized_page(db, entry, settings),
        explained=entry.explained,
        source_license=(source.license if source else None)
        or (release.license if release else None),
        analyzed_release=place.version if place else None,
        analyzed_sha=release.sha256 if release else _sha(entry.package, place, settings),
        analyzed_at=utc_text(release.scanned_at) if release else _seen(place, rows),
        schema_version=SCHEMA_VERSION,
    )


def template_holes(template: str) -> list[dict[str, Any]]:
    """The holes of a template, in order, as a site's are."""
    return [
        {"expr": part.expr, "conversion": part.conversion, "format": part.format}
        for part in parse(template)
        if isinstance(part, Hole)
    ]


def _sha(package: str, place: Place | None, settings: Settings) -> str | None:
    """Hash of the wheel of a release that only runs have seen, if it is in the cache."""
    wheel = wheel_at_hand(package, place.version, settings) if place else None
    return wheel.sha256 if wheel else None


def _seen(place: Place | None, rows: list[Run]) -> str | None:
    """When a run saw the place of a release that is not scanned."""
    times = [run.started_at for run in rows if place and run.subject.endswith(f"=={place.version}")]
    return utc_text(max(times)) if times else None


def _aliases(db: Session, entry: Entry) -> list[str]:
    rows = db.exec(select(Alias.alias).where(Alias.entry_id == entry.id))
    return sorted({*rows, *all_ids(db, entry)} - {entry.id})


def _corrections(text: EntryFile | None, runs: list[RunRecord]) -> list[Correction]:
    """Each correction with the newest run that recorded its check or claim."""
    found = []
    for correction in text.corrections if text else []:
        shown, ok = None, None
        for run in runs:
            marks = [c for c in (*run.checks, *run.claims) if c.get("id") == correction.run]
            if marks:
                shown, ok = run.id, all(bool(mark.get("ok")) for mark in marks)
                break
        found.append(
            Correction(
                said=correction.said,
                code_does=correction.code_does,
                run=correction.run,
                run_id=shown,
                ok=ok,
            )
        )
    return found


def _reproducer(entry: Entry, runs: list[RunRecord]) -> Reproducer:
    key = entry.slug or entry.id
    command = f"reprobase run {key}"
    file = find_reproducer(entry.slug)
    if file is not None:
        return Reproducer(
            kind="handwritten",
            url=f"/errors/{key}.py",
            command=command,
            releases=file.releases,
            about=file.about,
            trigger=file.trigger,
            fix=file.fix,
        )
    if any(run.kind == "synthesized" for run in runs):
        return Reproducer(kind="synthesized", command=command)
    return Reproducer(kind="none")
