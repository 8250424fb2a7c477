"""Makes what the program found evidence: runs of kind `synthesized` beside all others.

The results lie in the cache (`app.runs.found`), so a rebuilt catalog gets them back by itself. An
entry with a reproducer written by hand keeps that one: what was found of it is not shown.
"""

import os
from typing import Any, Final

from packaging.version import Version
from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.db import to_be_loaded, touch, write_meta
from app.models import Entry, Run, utc_now
from app.runs.found import Found, found_releases, read_found, store_path, worth
from app.runs.record import new_run_id
from app.services.found_reasons import LAUNCH, keep_reasons
from app.settings import Settings

FOUND: Final = "found"
"""Origin of these runs."""
_STAMP: Final = "found"


def load_found(db: Session, settings: Settings) -> int:
    """Bring the synthesized runs up to date with what was found; cheap if nothing changed.

    Args:
        db: the open session; the caller commits.
        settings: where the results lie.

    Returns:
        How many runs were stored; 0 if they are up to date.

    Raises:
        UnavailableError: the results cannot be read.
    """
    path = store_path(settings)
    try:
        facts = os.stat(path)  # noqa: PTH116  # size and time in one call
    except OSError:
        return 0
    owners = {i: (s, e) for i, s, e in db.exec(select(Entry.id, Entry.slug, Entry.explained))}
    stamp = f"{facts.st_mtime_ns}:{facts.st_size}:{len(owners)}"
    if not to_be_loaded(db, _STAMP, stamp):
        return 0
    db.execute(delete(Run).where(col(Run.origin) == FOUND))
    count = 0
    codes: dict[str, str] = {}
    for package, version in sorted(found_releases(settings), key=lambda r: (r[0], Version(r[1]))):
        best: dict[str, Found] = {}
        for result in read_found(settings, package, version).values():
            entry_id = str(result["entryId"])
            known = best.get(entry_id)
            if known is None or worth(result) < worth(known):
                best[entry_id] = result
        for entry_id, result in best.items():
            if codes.get(entry_id) not in ("", LAUNCH) or result.get("fix"):
                codes[entry_id] = _code(result)
            slug, explained = owners.get(entry_id, (None, True))
            if explained or slug or not result.get("trigger"):
                continue
            rows = runs_of_found(result, f"{package}=={version}")
            db.add_all(rows)
            count += len(rows)
    keep_reasons(db, codes)
    write_meta(db, _STAMP, stamp)
    touch(db)
    return count


def _code(result: Found) -> str:
    """Why a result is no evidence; empty, or `LAUNCH`, if it is."""
    if not result.get("fix"):
        return str(result.get("reason") or "no-fix")
    return LAUNCH if result.get("level") == LAUNCH else ""


def runs_of_found(result: Found, subject: str) -> list[Run]:
    """The runs that a result is about: its trigger, and its fix if it has one."""
    trigger = result["trigger"]
    replaced = [_substitute(p) for p in trigger["replaced"]]
    shared: dict[str, Any] = {
        "entry_id": str(result["entryId"]),
        "subject": subject,
        "kind": "synthesized",
        "origin": FOUND,
        "state": "done",
        "substitutes": replaced,
        "started_at": utc_now(),
        "seconds": float(result.get("seconds", 0.0)),
    }
    place = {k: result[k] for k in ("file", "function", "line")}
    rows = [
        Run(
            id=new_run_id(),
            step="trigger",
            outcome="raised",
            error_class=trigger["errorClass"],
            message=trigger["message"],
            site=place,
            matched=True,
            passed=True,
            values=_shown(trigger["values"]),
            traceback=trigger["frames"],
            **shared,
        )
    ]
    if result.get("fix"):
        check = {"id": "returns", "text": "the same call returns, and its guard was evaluated",
                 "ok": True, "expected": True, "got": True}  # fmt: skip
        values = {**trigger["values"], **result["fix"]["changes"]}
        rows.append(
            Run(
                id=new_run_id(),
                step="fix",
                outcome="returned",
                passed=True,
                guard_reached=True,
                checks=[check],
                values=_shown(values),
                **shared,
            )
        )
        rows[0].pair, rows[1].pair = rows[1].id, rows[0].id
    return rows


def _shown(values: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(values.items()))


def _substitute(path: str) -> dict[str, Any]:
    name = path.removeprefix("call:")
    return {"name": name, "why": "its result is an input of this run", "code": "", "ran": True}
