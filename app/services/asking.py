"""What somebody typed or pasted into the one box, and what fits while it is typed."""

import re
from typing import Literal

from sqlmodel import Session

from app.models import Public
from app.services.listing import ListQuery, list_errors
from app.services.records import Summary
from app.settings import Settings

HITS = 8
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
_LOG_LINES = 4
Kind = Literal["nothing", "log", "command", "words"]


class Asked(Public):
    """What a text is, said to the one who is typing it, and the entries it may mean."""

    kind: Kind
    said: str
    records: list[Summary]


def kind_of(text: str) -> Kind:
    """What a text is: a log, a launch line, or words."""
    text = text.strip()
    if not text:
        return "nothing"
    if _LOG.search(text) or text.count("\n") >= _LOG_LINES:
        return "log"
    if _LAUNCH.search(text):
        return "command"
    return "words"


def asked(db: Session, text: str, settings: Settings) -> Asked:
    """What a text is and, for words, the first entries that fit."""
    kind = kind_of(text)
    lines = text.strip().count("\n") + 1
    said = {
        "nothing": "",
        "log": "An error message" if lines == 1 else f"A log, {lines:,} lines",
        "command": "A launch line",
        "words": "",
    }[kind]
    if kind not in {"words", "log"} or (kind == "log" and lines > 1):
        return Asked(kind=kind, said=said, records=[])
    query = ListQuery(q=text[:_LOOKED_AT])
    found = list_errors(db, query, limit=HITS, settings=settings)
    if kind == "words":
        said = f"{found.total:,} {'error' if found.total == 1 else 'errors'}"
    return Asked(kind=kind, said=said, records=found.records)
