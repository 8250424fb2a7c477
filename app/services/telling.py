"""Which errors come first where nobody asked for an order: those that tell a reader most."""

from typing import Any

from sqlalchemy import case, or_
from sqlmodel import col

from app.models import Entry

_OPENINGS = ("(", "{", "[")
"""A message that begins with a value says nothing before the value is known."""


def most_telling() -> tuple[Any, ...]:
    """Explained ones, then messages, those that begin with a value, log lines, what has no words.

    For ORDER BY; `telling_rank` is the same for rows that are in memory.
    """
    opens = or_(*(col(Entry.template).startswith(mark, autoescape=True) for mark in _OPENINGS))
    words = case(
        (col(Entry.template) == "", 3), (col(Entry.error_type) == "log", 2), (opens, 1), else_=0
    )
    return case((col(Entry.explained), 0), else_=1), words, col(Entry.template), col(Entry.id)


def telling_rank(
    template: str, error_type: str, entry_id: str, *, explained: bool
) -> tuple[bool, int, str, str]:
    """The same order for one row."""
    words = 3 if not template else 2 if error_type == "log" else template.startswith(_OPENINGS)
    return not explained, int(words), template, entry_id
