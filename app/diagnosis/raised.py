"""One exception as a log shows it, with its frames and its message."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from app.diagnosis.lines import Line

Relation = Literal["handling", "cause", "group"]


class Frame(NamedTuple):
    """One call, as the log shows it."""

    file: str
    line: int
    function: str
    source: str
    """The code line beneath it, empty if the log shows none."""
    number: int
    """The log's line."""


@dataclass(slots=True)
class Raised:
    """One exception with its frames."""

    error_class: str | None
    """As written, with the module; None if the log ends before it."""
    message: list[Line] = field(default_factory=list)
    """The exception line and what follows it, blank lines included."""
    at: int = -1
    """Index of the exception line in its stream."""
    offset: int = 0
    """Where the message begins in the exception line."""
    frames: list[Frame] = field(default_factory=list)
    """Outermost first."""
    relation: Relation | None = None
    """How it hangs on the exception before it in the same chain."""
    lead: str = ""
    """What the program said before `Traceback`, e.g. `Scheduler hit an exception:`."""
    first: int = 0
    last: int = 0
    rank: str | None = None
    source: str = ""
    time: float | None = None
    level: str | None = None
    """Of the record that the traceback begins in."""
    progress: str | None = None
    """A progress bar on the header's line."""
    cut_start: bool = False
    cut_end: bool = False

    @property
    def text(self) -> str:
        """The message up to its first blank line."""
        return "\n".join(self.texts()).split("\n\n", 1)[0].rstrip()

    def texts(self) -> list[str]:
        """The message's lines, the first without its class."""
        if not self.message:
            return []
        return [self.message[0].text[self.offset :], *(line.text for line in self.message[1:])]
