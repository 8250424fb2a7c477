"""What somebody typed or pasted into the one box, and what fits while it is typed."""

import re
from typing import Literal

from sqlmodel import Session

from app.models import Public
from app.services.listing import ListQuery, list_errors
from app.services.records import Summary
from app.settings import Settings

HITS = 8
_SHORTEST = 2
_LOOKED_AT = 4000
_LAUNCH = re.compile(
    r"(?:^|[\s;&|])(?:python[\d.]*\s+-m\s+(?:sglang|vllm)\S*|sglang\s+serve|vllm\s+serve|"
    r"sglang\.launch_server)(?:\s|$)"
)
_LOG = re.compile(
    r"Traceback \(most recent call last\)|^\s*File \".+\", line \d+|^\[?\d{4}-\d\d-\d\d[ T]\d\d:|"
    r"\b(?:ERROR|CRITICAL|WARNING)\b|^[A-Za-z_.]*(?:Error|Exception): ",
    re.MULTILINE,
)
_FLAGS = re.compile(r"\s*--[a-z][\w-]*(?:[= ][^\s-]\S*)?(?:\s+--[a-z][\w-]*(?:[= ][^\s-]\S*)?)+\s*")
"""Nothing but options: a launch line without its beginning."""
_LOG_LINES = 4
Kind = Literal["nothing", "log", "command", "words"]


class Asked(Public):
    """What a text is, said to the one who is typing it, and the entries it may mean."""

    kind: Kind
    said: str
    records: list[Summary]


def kind_of(text: str) -> Kind:
    """What a text is: a log (one line of it will do), a launch line, or words."""
    text = text.strip()
    if not text:
        return "nothing"
    if _LOG.search(text):
        return "log"
    if _LAUNCH.search(text) or _FLAGS.fullmatch(text):
        return "command"
    return "log" if text.count("\n") >= _LOG_LINES else "words"


def asked(db: Session, text: str, settings: Settings) -> Asked:
    """What a text is and, for words, the first entries that fit."""
    kind = kind_of(text)
    lines = text.strip().count("\n") + 1
    if kind == "nothing" or len(text.strip()) < _SHORTEST:
        return Asked(kind=kind, said="", records=[])
    if kind == "command":
        return Asked(kind=kind, said="A launch line: its release's own checks answer", records=[])
    if kind == "log" and lines > 1:
        return Asked(kind=kind, said=f"A log, {lines:,} lines: what came first?", records=[])
    found = list_errors(db, ListQuery(q=text[:_LOOKED_AT]), limit=HITS, settings=settings)
    number = f"{found.total:,} {'error' if found.total == 1 else 'errors'}"
    said = f"An error message; {number} like it" if kind == "log" else number
    return Asked(kind=kind, said=said, records=found.records)
