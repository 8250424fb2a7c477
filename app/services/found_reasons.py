"""Which evidence an error has, and why it has none: what a list can be filtered by.

The reasons of what was looked for lie in the cache (`app.runs.found`), some tens of megabytes; the
codes alone are kept in the catalog, written whenever the synthesized runs are brought up to date.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from sqlmodel import Session, select

from app.db import read_meta, write_meta
from app.models import Run
from app.services.evidence import executed_ids
from reproducers.protocol import NOT_TRIED, SYNTHESIS_REASONS

_KEY: Final = "found-reasons"
LAUNCH: Final = "launch"
"""Stands where others have a reason: a launch line shows it."""
EVIDENCE_WORDS: Final = {
    "written": "a reproducer written by hand",
    "synthesized": "found by the program",
    LAUNCH: "found, as a launch line",
    "none": "none",
}
EVIDENCE: Final = (*EVIDENCE_WORDS, *SYNTHESIS_REASONS)
"""What the filter takes: written by hand, found by the program, of that a launch line, none, or
the reason why the program found none."""


def keep_reasons(db: Session, reasons: Mapping[str, str]) -> None:
    """Store the code of each entry that was looked at; empty or `LAUNCH`: trigger and fix."""
    write_meta(db, _KEY, json.dumps(dict(sorted(reasons.items())), separators=(",", ":")))


def reasons_of(db: Session) -> Mapping[str, str]:
    """The code of each entry that was looked at; see `keep_reasons`."""
    return _parsed(read_meta(db, _KEY) or "{}")


@lru_cache(maxsize=2)
def _parsed(text: str) -> Mapping[str, str]:
    return dict(json.loads(text))


def reason_for(entry_id: str, reasons: Mapping[str, str]) -> str:
    """Why an entry that was not executed has no evidence: a code of `SYNTHESIS_REASONS`."""
    code = reasons.get(entry_id, "")
    return code if code in SYNTHESIS_REASONS else NOT_TRIED


def evidence_ids(db: Session, value: str) -> tuple[set[str], bool]:
    """The entries that the filter lets through (True), or all those that it does not (False).

    Args:
        db: the open session.
        value: one of `EVIDENCE`.
    """
    executed = executed_ids(db)
    if value == "none":
        return executed, False
    codes = reasons_of(db)
    if value == NOT_TRIED:
        return executed | {i for i, code in codes.items() if code in SYNTHESIS_REASONS}, False
    if value in SYNTHESIS_REASONS:
        return {i for i, code in codes.items() if code == value} - executed, True
    by_program = set(db.exec(select(Run.entry_id).where(Run.kind == "synthesized").distinct()))
    if value == "written":
        return executed - by_program, True
    found = executed & by_program
    return {i for i in found if codes.get(i) == LAUNCH} if value == LAUNCH else found, True
