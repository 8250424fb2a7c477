"""How an entry is worded: as the first site of the newest release that has it.

What people wrote about an entry (its severity, family and type) goes before what is computed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import insert, select, update
from sqlmodel import Session, SQLModel

import app.models  # noqa: F401  # declares the tables
from app.scanner.families import classify, deciding_guards
from app.scanner.guards import Guard
from app.scanner.records import ScannedRelease, ScannedSite
from app.scanner.templates import parse, pattern

_release = SQLModel.metadata.tables["release"]
_entry = SQLModel.metadata.tables["entry"]
_site = SQLModel.metadata.tables["site"]
_ROWS: Final = 5_000
_COLUMNS: Final = (
    "error_class",
    "error_type",
    "template",
    "pattern",
    "condition",
    "http_status",
    "severity",
    "family",
)
_EXPLAINED: Final = ("template",)
"""All that a scan says about an entry that people explained."""
_ERROR_TYPES: Final = {
    "raise": "exception",
    "assert": "assertion",
    "argparse": "argument",
    "http": "http",
    "log": "log",
    "native": "native",
}
_SEVERITIES: Final = {"argparse": "refused-at-launch", "http": "request-fails"}

Wording = tuple[Any, ...]
"""Values of `_COLUMNS`."""


def store_entries(db: Session, scanned: ScannedRelease, order: int) -> None:
    """Add new entries, and give the others this wording unless a newer release has them."""
    first: dict[str, ScannedSite] = {}
    for site in scanned.sites:
        first.setdefault(site.entry_id, site)
    newer = set(
        db.execute(
            select(_site.c.entry_id)
            .join(_release, _release.c.id == _site.c.release_id)
            .where(_release.c.package == scanned.package, _release.c.ordinal > order)
            .distinct()
        ).scalars()
    )
    known = _known(db, scanned.package)
    _store(
        db,
        scanned.package,
        known,
        {entry: _of_scanned(s) for entry, s in first.items() if entry not in newer},
    )


def renew_wordings(db: Session, package: str) -> None:
    """Word all entries anew from the stored releases, after one was taken out."""
    known = _known(db, package)
    newest: dict[str, Wording] = {}
    releases = db.execute(
        select(_release.c.id)
        .where(_release.c.package == package)
        .order_by(_release.c.ordinal.desc())
    ).scalars()
    for release in releases.all():
        for row in db.execute(
            select(_site)
            .where(_site.c.release_id == release)
            .order_by(_site.c.file, _site.c.line, _site.c.end_line, _site.c.id)
        ).mappings():
            if row["entry_id"] not in newest:
                newest[row["entry_id"]] = _of_stored({**row}, known)
    _store(db, package, known, newest)


def _known(db: Session, package: str) -> dict[str, tuple[bool, Wording]]:
    """Whether an entry is explained, and its wording, by id."""
    columns = [_entry.c[name] for name in _COLUMNS]
    rows = db.execute(
        select(_entry.c.id, _entry.c.explained, *columns).where(_entry.c.package == package)
    )
    return {entry: (explained, tuple(wording)) for entry, explained, *wording in rows}


def _store(
    db: Session,
    package: str,
    known: Mapping[str, tuple[bool, Wording]],
    wordings: Mapping[str, Wording],
) -> None:
    added = []
    for entry, wording in wordings.items():
        explained, now = known.get(entry, (False, None))
        if now is None:
            added.append(
                {"id": entry, "package": package, "explained": False}
                | dict(zip(_COLUMNS, wording, strict=True))
            )
        elif now != wording:
            values = dict(zip(_COLUMNS, wording, strict=True))
            if explained:
                values = {name: values[name] for name in _EXPLAINED}
            db.execute(update(_entry).where(_entry.c.id == entry).values(**values))
    for rows in batches(added):
        db.execute(insert(_entry), rows)


def batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows in lists of a few thousand."""
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _of_scanned(site: ScannedSite) -> Wording:
    return (
        site.error_class,
        _ERROR_TYPES[site.kind],
        site.template,
        site.pattern,
        site.condition,
        site.http_status,
        _severity(site.kind, site.error_class),
        site.family,
    )


def _of_stored(row: Mapping[str, Any], known: Mapping[str, tuple[bool, Wording]]) -> Wording:
    template, name, kind = row["template"], row["error_class"], row["kind"]
    _, now = known.get(row["entry_id"], (False, None))
    if now is not None and now[2] == template:
        regex = now[3]
    else:
        regex = pattern(parse(template), quoted=name == "KeyError") if template else ""
    guards = deciding_guards([Guard(**g) for g in row["guards"]], kind)[-1:]
    return (
        name,
        _ERROR_TYPES[kind],
        template,
        regex,
        row["condition"],
        row["http_status"],
        _severity(kind, name),
        classify(name, template, guards, kind),
    )


def _severity(kind: str, error_class: str) -> str:
    if kind == "log" and error_class not in ("ERROR", "CRITICAL"):
        return "warning"
    return _SEVERITIES.get(kind, "error")
