"""The answer: plain dataclasses whose JSON is the contract's, with camelCase keys.

Files and functions are given from the package's root. `frame` is only what the log shows; `site` is
what the catalog knows. Every text in here has been through `app.diagnosis.redact`.
"""

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Final, Literal

Verdict = Literal["known", "unknown", "incomplete", "clean"]
Role = Literal["root-cause", "consequence", "echo", "warning"]


@dataclass(slots=True)
class ShownFrame:
    """The innermost frame of an engine that the log shows."""

    file: str
    function: str
    """The name as a traceback prints it, without its class."""
    line: int
    qualified_function: str | None = None
    """With its class, where the inferred or given release has such a function there."""


@dataclass(slots=True)
class CatalogSite:
    """Where the catalog has the message."""

    file: str
    function: str
    release: str
    """`sglang==0.5.23`: the log's release where known, else the newest that has the message."""
    line: int | None = None
    today: dict[str, Any] | None = None
    """{"file", "function", "release", "line"} in the newest scanned release; None if it is gone."""
    status: str = "same"
    """same | moved | reworded | gone: what became of it by the newest scanned release."""
    last_release: str | None = None
    """The last scanned release that has it, if it is gone."""


@dataclass(slots=True)
class Evidence:
    """One place of the log that speaks for a finding."""

    kind: str
    """message | frame | header | fact | exit."""
    line: int
    text: str
    start: int | None = None
    """Character offsets in the log, for highlighting; None in logs too large to be shown."""
    end: int | None = None


@dataclass(slots=True)
class Occurrence:
    """One more time that the same thing was said."""

    line: int
    rank: str | None
    params: dict[str, Any]


@dataclass(slots=True)
class Finding:
    """One thing that went wrong, however often it was said."""

    entry_id: str | None
    slug: str | None
    error_class: str | None
    message: str
    template: str | None
    params: dict[str, Any]
    package: str | None
    frame: ShownFrame | None
    site: CatalogSite | None
    rank: str | None
    process: str | None
    first_line: int
    last_line: int
    count: int
    role: Role
    evidence: list[Evidence] = field(default_factory=list)
    confidence: float = 0.0
    release: str | None = None
    meaning: str = ""
    fixes: list[str] = field(default_factory=list)
    """Markdown, best first, with the user's values."""
    hints: list[str] = field(default_factory=list)
    title: str = ""
    ranks: list[str] = field(default_factory=list)
    occurrences: list[Occurrence] = field(default_factory=list)
    """The others, at most a hundred."""
    not_this_if: list[str] = field(default_factory=list)
    family: str | None = None
    severity: str | None = None
    raised_at: ShownFrame | None = None
    """The innermost frame of all, where it is a library's and not the engine's."""


@dataclass(slots=True)
class Warned:
    """A warning of the engine that is not the reason for anything, but may be worth knowing."""

    template: str
    entry_id: str
    count: int
    first_line: int


@dataclass(slots=True)
class Diagnosis:
    """What went wrong in a log."""

    verdict: Verdict
    root_cause: int | None
    findings: list[Finding]
    missing: list[str] = field(default_factory=list)
    """What would have to be given for a better answer, one sentence each."""
    release: str | None = None
    redacted: int = 0
    summary: str = ""
    """One sentence."""
    engine: str | None = None
    """sglang, vllm, another engine's package name, or None if the log does not say."""
    release_reason: str = ""
    lines: int = 0
    ranks: list[str] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    """What log and launch line say of the set-up."""

    def to_json(self) -> dict[str, Any]:
        """The contract's JSON document."""
        return dict(_json(self))


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


_NAMES: dict[type, list[tuple[str, str]]] = {}


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def _json(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [v if type(v) in _PLAIN else _json(v) for v in value]
    if isinstance(value, dict):
        return {k: v if type(v) in _PLAIN else _json(v) for k, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        names = _NAMES.get(kind)
        if names is None:
            names = _NAMES[kind] = [(f.name, _camel(f.name)) for f in fields(kind)]
        found = {}
        for name, camel in names:
            part = getattr(value, name)
            found[camel] = part if type(part) in _PLAIN else _json(part)
        return found
    return value
