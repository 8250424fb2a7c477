"""What a scan gives: sites, and the release they are from. Plain data, no database."""

import json
from dataclasses import dataclass, field
from typing import Any

from app.scanner.guards import Guard
from app.scanner.templates import Hole


@dataclass(slots=True)
class ScannedSite:
    """One raise, assert, check, log line or error response in a release's source.

    Holes and guards are kept as JSON text, as they are stored: a release has 30,000 sites, and
    most are never looked at one by one. The properties read them.
    """

    kind: str
    """raise | assert | argparse | http | log | native."""
    error_class: str
    """Bare class; the level for log lines, the function for HTTP responses, the macro for native
    checks, `?` where the source does not say."""
    template: str
    """See `app.scanner.templates`; empty where there is no message."""
    holes_json: str
    """[{"expr","conversion","format"}] in order."""
    pattern: str
    """Regex for a whole message, a group a hole; empty where there is no message."""
    words: str
    """The template with empty holes and folded white space."""
    condition: str
    """Stands in for the message where that has no words of its own; empty otherwise."""
    file: str
    """From the wheel's root: `sglang/srt/...`."""
    function: str
    """Qualified name, empty at module level."""
    line: int
    end_line: int
    guards_json: str
    """[{"text","kind","line"}], outermost first; see `app.scanner.guards.Guard`."""
    nearest: str
    """The innermost condition with its kind, `if x is None`; empty where there is none."""
    form: str
    """How the message is written: literal, fstring, percent, format, concatenation, ..."""
    entry_id: str
    http_status: int | None = None
    family: str | None = None
    site_id: str = ""

    @property
    def holes(self) -> list[Hole]:
        """The holes of the template, in order."""
        return [Hole(**h) for h in json.loads(self.holes_json)]

    @property
    def guards(self) -> list[Guard]:
        """The conditions on the way to the site, outermost first."""
        return [Guard(**g) for g in json.loads(self.guards_json)]

    @property
    def recovered(self) -> bool:
        """The message is known at least in part."""
        return bool(self.template) and not self.condition

    @property
    def unrecoverable(self) -> bool:
        """There is a message, but nothing of it can be read."""
        return bool(self.template) and bool(self.condition)


@dataclass(slots=True)
class ScannedRelease:
    """All that was read in one wheel."""

    package: str
    version: str
    sha256: str
    wheel: str
    license: str | None
    files: int = 0
    sites: list[ScannedSite] = field(default_factory=list)
    unparsed: list[dict[str, Any]] = field(default_factory=list)
    """[{"file", "reason"}]: what could not be read as Python, entirely or in part."""
    failed_patterns: list[dict[str, Any]] = field(default_factory=list)
    """[{"file", "line", "template"}]: sites whose pattern does not match their own message."""
    reraised: int = 0
    """Bare `raise` and `raise e` in a handler: another site's error passed on."""
    seconds: float = 0.0

    @property
    def templates(self) -> int:
        """Python sites whose message is known at least in part."""
        return sum(s.kind != "native" and s.recovered for s in self.sites)

    @property
    def native(self) -> int:
        """Native checks with text."""
        return sum(s.kind == "native" and s.recovered for s in self.sites)

    @property
    def unrecoverable(self) -> int:
        """Python sites with a message of which nothing can be read."""
        return sum(s.kind != "native" and s.unrecoverable for s in self.sites)

    @property
    def entries(self) -> int:
        """Distinct entries."""
        return len({s.entry_id for s in self.sites})
