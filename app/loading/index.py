"""Compiles the catalog into the one file that a diagnosis reads.

`refresh` writes it from the database, `build` from scanned releases without one. The file's name
carries a hash of its content; a small pointer beside it says which one counts and for which state
of the catalog. Old files are removed, but not under a process that still maps them (POSIX keeps
them alive; elsewhere removal is tried again the next time).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from sqlmodel import Session, col, select

from app.db import read_meta, session
from app.diagnosis.catalog import POINTER
from app.diagnosis.literals import ENGINE, Literals
from app.diagnosis.markers import MARKERS
from app.diagnosis.packing import Contents, pack
from app.diagnosis.sieve import fragments
from app.exceptions import ReprobaseError, UnavailableError
from app.knowledge.entry_file import EntryFile, read_entry_files
from app.loading.curated import ERRORS_DIR, curated_id
from app.loading.index_facts import facts_of, places
from app.loading.index_records import Collector, by_class, link_literals, openings
from app.models import Alias, Entry, Release, Site
from app.settings import Settings
from app.wheels import open_wheel

Progress = Callable[[str], None]
_REWORDED: Final = ("reworded", "class-changed")


class SiteLike(Protocol):
    """What is needed of a site: a scanned one and a stored one both have it."""

    kind: str
    error_class: str
    template: str
    file: str
    function: str
    line: int
    entry_id: str


@dataclass(slots=True)
class ReleaseSites:
    """One release with its sites."""

    package: str
    version: str
    sites: Iterable[SiteLike]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What `facts_of` gave; empty where the wheel is not at hand."""


@dataclass(slots=True)
class Words:
    """What the catalog knows of entries beyond their sites."""

    successors: Mapping[str, str] = field(default_factory=dict)
    """Entry → the entry that later releases say instead."""
    families: Mapping[str, str] = field(default_factory=dict)
    severities: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Entry → the condition under which its newest place is reached."""


def build(
    releases: Sequence[ReleaseSites], curated: Iterable[EntryFile], words: Words | None = None
) -> bytes:
    """The bytes of an index.

    Args:
        releases: in version order within each package.
        curated: the explained entries.
        words: what else the catalog knows.
    """
    words = words or Words()
    collector = Collector(words.successors, words.families, words.severities, words.conditions)
    for number, release in enumerate(releases):
        for site in release.sites:
            collector.add(number, release.package, site)
    for file in curated:
        collector.explain(file, curated_id(file))
    records = collector.records()
    literals, postings = link_literals(records)
    by_function = collector.by_function(records)
    flags: dict[str, list[int]] = {}
    optional: set[str] = set()
    for number, release in enumerate(releases):
        for flag in release.facts.get("flags", ()):
            flags.setdefault(flag, []).append(number)
        optional.update(release.facts.get("optional", ()))
    return pack(
        Contents(
            meta={
                "releases": [[r.package, r.version] for r in releases],
                "matcher": ENGINE,
                "markers": {n: MARKERS[t] for n, t in enumerate(literals) if t in MARKERS},
                "flags": flags,
                "optional": sorted(optional),
                "slugs": {r.slug: i for i, r in enumerate(records) if r.slug},
            },
            records=records,
            literals=literals,
            postings=postings,
            by_function=by_function,
            by_class=by_class(records),
            openings=openings(records),
            matcher=Literals(lambda: literals).dump(),
            sieve=Literals(lambda: fragments(literals)).dump(),
            places=places([dict(r.facts) for r in releases]),
        )
    )


def refresh(
    settings: Settings, *, progress: Progress | None = None, folder: Path = ERRORS_DIR
) -> Path:
    """Write the index anew from the database and the entry files, and point to it.

    Args:
        settings: where database and cache are.
        progress: told what is being done.
        folder: the entry files.

    Returns:
        The new file.

    Raises:
        UnavailableError: the database cannot be read, or the file cannot be written.
        BadFileError: an entry file breaks its format.
    """
    data, state = compiled(settings, progress=progress, folder=folder)
    return save(data, settings.index_dir, state)


def compiled(
    settings: Settings, *, progress: Progress | None = None, folder: Path = ERRORS_DIR
) -> tuple[bytes, str]:
    """The bytes of the index of the catalog as it is, and the catalog's state; see `refresh`."""
    say = progress or (lambda _: None)
    with session(settings) as db:
        state = read_meta(db, "catalog") or ""
        releases = _releases(db, settings, say)
        words = _words(db)
    what = {0: "the explained entries", 1: "1 release"}
    say(f"compiling the index of {what.get(len(releases), f'{len(releases)} releases')}")
    return build(releases, read_entry_files(folder), words), state


def save(data: bytes, folder: Path, state: str = "") -> Path:
    """Store an index under its hash and point to it.

    Args:
        data: what `build` gave.
        folder: where indexes lie.
        state: the catalog's state it was made of, to see later whether it still holds.

    Raises:
        UnavailableError: the folder cannot be written.
    """
    path = folder / f"diagnosis-{hashlib.sha256(data).hexdigest()[:16]}.idx"
    pointer = folder / POINTER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write(path, data)
        said = {"file": path.name, "catalog": state, "matcher": ENGINE}
        _write(pointer, json.dumps(said).encode())
    except OSError as e:
        raise UnavailableError(
            f"The compiled index cannot be kept in {folder} ({e.strerror or e}); set"
            " REPROBASE_CACHE_DIR to a folder that can be written."
        ) from e
    for old in folder.glob("diagnosis-*.idx"):
        if old != path:
            with suppress(OSError):
                old.unlink()
    return path


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(path)


def _releases(db: Session, settings: Settings, say: Progress) -> list[ReleaseSites]:
    rows = db.exec(select(Release).order_by(col(Release.package), col(Release.ordinal))).all()
    found = []
    for row in rows:
        say(f"reading {row.package} {row.version}")
        sites: Sequence[Any] = db.exec(
            select(  # type: ignore[call-overload]  # more columns than the stubs list
                Site.kind, Site.error_class, Site.template, Site.file, Site.function, Site.line,
                Site.entry_id, Site.guards,
            ).where(Site.release_id == row.id)
        ).all()  # fmt: skip
        found.append(ReleaseSites(row.package, row.version, sites, _facts(row, settings)))
    return found


def _facts(row: Release, settings: Settings) -> Mapping[str, Any]:
    path = settings.wheels_dir / row.package / row.wheel
    try:
        return facts_of(open_wheel(path), settings.index_dir)
    except (ReprobaseError, OSError):
        return {}  # the wheel is gone: functions and flags of this release stay unknown


def _words(db: Session) -> Words:
    successors = dict(
        db.exec(select(Alias.alias, Alias.entry_id).where(col(Alias.kind).in_(_REWORDED))).all()
    )
    families: dict[str, str] = {}
    severities: dict[str, str] = {}
    for entry, family, severity in db.exec(select(Entry.id, Entry.family, Entry.severity)):
        if family:
            families[entry] = family
        if severity and severity != "error":
            severities[entry] = severity
    return Words(successors=successors, families=families, severities=severities)
