"""What all findings of one log share."""

from dataclasses import dataclass

from app.diagnosis.engines import Origin
from app.diagnosis.facts import Facts
from app.diagnosis.lines import Line
from app.diagnosis.matcher import Matcher


@dataclass(slots=True)
class Case:
    """What all findings of one log share."""

    matcher: Matcher
    origin: Origin
    facts: Facts
    lines: list[Line]
    shown: bool
    """The log is small enough to be shown: evidence carries offsets."""
