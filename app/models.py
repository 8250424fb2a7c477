"""THE schema: for every noun a Base (its facts), a table, and where it is shown a Public.

The database is a cache of `data/` and of the wheels, plus the local runs: everything but `Run` can
be dropped and rebuilt. JSON on the wire is camelCase (`Public`); columns are snake_case.

`SQLModel(table=True)` does not validate on construction: build the Base first where input is
foreign. (And no `from __future__ import annotations` here: it breaks SQLModel.)
"""

from datetime import UTC, datetime
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel
from sqlalchemy import JSON, BigInteger, Column, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

SCHEMA_VERSION = 3


def utc_now() -> datetime:
    """Now, in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def _json(default: type[list[Any]] | type[dict[str, Any]] = list) -> Any:
    """A JSON column that is never null."""
    return Field(default_factory=default, sa_column=Column(JSON, nullable=False))


class Public(SQLModel):
    """What goes over the wire: the same facts with camelCase keys."""

    model_config = ConfigDict(  # type: ignore[assignment]  # SQLModel narrows pydantic's type
        alias_generator=to_camel, populate_by_name=True, from_attributes=True
    )


# --- releases ---------------------------------------------------------------------------------


class ReleaseBase(SQLModel):
    """One version of a package whose wheel was scanned."""

    package: str = Field(index=True)
    version: str
    ordinal: int = Field(sa_type=BigInteger, index=True)
    """Releases of a package in version order; see `app.scanner.release.ordinal`."""
    sha256: str
    wheel: str
    """File name of the wheel."""
    license: str | None = None
    files: int = 0
    unparsed: list[dict[str, Any]] = _json()
    """[{"file","reason"}]: nothing is skipped in silence."""
    sites: int = 0
    templates: int = 0
    native: int = 0
    unrecoverable: int = 0
    reraised: int = 0
    """Bare `raise` and the like: another site's error passed on."""
    entries: int = 0
    seconds: float = 0.0
    """How long reading and storing took."""
    scanner: str = ""
    """Digest of the program that scanned it: another one scans it again."""
    scanned_at: datetime = Field(default_factory=utc_now)


class Release(ReleaseBase, table=True):
    """A scanned release; a row exists only once its scan is complete."""

    __table_args__ = (UniqueConstraint("package", "version"),)
    id: int | None = Field(default=None, primary_key=True)


# --- entries and sites --------------------------------------------------------------------------


class EntryBase(SQLModel):
    """Class + template of a package: what has a page."""

    package: str = Field(index=True)
    error_class: str
    error_type: str
    """exception | assertion | argument | http | log | native | silent."""
    template: str
    """As the newest release writes it, holes as `{expr}`."""
    pattern: str
    """A regex that a message of this template matches in full, holes as groups."""
    condition: str = ""
    """Stands in for a message that has no words of its own: `assert n == m`, `if x is None`."""
    http_status: int | None = None
    severity: str = "error"
    family: str | None = Field(default=None, index=True)
    slug: str | None = Field(default=None, unique=True)
    explained: bool = False


class Entry(EntryBase, table=True):
    """An error with a page; `id` is computed, see `app.scanner.identity`."""

    id: str = Field(primary_key=True, max_length=16)


class Alias(SQLModel, table=True):
    """Another id or slug under which an entry is found; never removed."""

    alias: str = Field(primary_key=True)
    entry_id: str = Field(index=True)
    kind: str
    """published | slug | reworded | class-changed."""


class SiteBase(SQLModel):
    """One raise, assert, check or error response in one release's source."""

    release_id: int = Field(foreign_key="release.id", ondelete="CASCADE")
    entry_id: str
    site_id: str = Field(max_length=16)
    """Stable over releases: entry, function leaf, ordinal among equals."""
    kind: str
    """raise | assert | argparse | http | log | native."""
    error_class: str
    template: str
    """As this release writes it."""
    holes: list[dict[str, Any]] = _json()
    """[{"expr","conversion","format"}] in order."""
    condition: str = ""
    """See `EntryBase.condition`."""
    form: str = ""
    """How the message is written: literal, fstring, percent, concatenation, variable, ..."""
    http_status: int | None = None
    file: str
    """From the package's root: `sglang/srt/...`."""
    function: str
    """Qualified name, empty at module level."""
    line: int
    end_line: int
    guards: list[dict[str, Any]] = _json()
    """[{"text","kind": "if|else|exit|assert|match|loop|except|check","line"}], outermost first."""


class Site(SiteBase, table=True):
    """A site of a scanned release."""

    __table_args__ = (
        Index("site_release_entry", "release_id", "entry_id"),
        Index("site_entry", "entry_id"),
    )
    id: int | None = Field(default=None, primary_key=True)


class Change(SQLModel, table=True):
    """What happened to an entry between a release and the one scanned before it."""

    __table_args__ = (Index("change_release_status", "release_id", "status"),)
    release_id: int = Field(foreign_key="release.id", primary_key=True, ondelete="CASCADE")
    entry_id: str = Field(primary_key=True)
    status: str
    """new | same | moved | reworded | classChanged | gone; `same` is not stored."""
    previous_entry_id: str | None = None
    """The entry it was, where the words or the class changed."""
    replaced: bool = False
    """That entry is nowhere left in the release: its id is an alias of this one."""


class Explanation(SQLModel, table=True):
    """A curated entry as `app.knowledge` read it from `data/errors/<slug>.md`."""

    slug: str = Field(primary_key=True)
    entry_id: str = Field(index=True)
    content: dict[str, Any] = _json(dict)


class Meta(SQLModel, table=True):
    """Facts about the database itself; see `app.db` for the keys."""

    key: str = Field(primary_key=True)
    value: str


# --- runs -----------------------------------------------------------------------------------------


class RunBase(SQLModel):
    """One execution of one step on one subject (the contract's run record)."""

    entry_id: str = Field(index=True)
    slug: str | None = Field(default=None, index=True)
    step: str
    subject: str
    device: str = "cpu"
    kind: str = "handwritten"
    """handwritten | synthesized."""
    origin: str = Field(default="local", index=True)
    """shipped (read from `data/evidence/`) | local (executed here)."""
    pair: str | None = None
    """The run of the other step that was started together with this one."""
    state: str = "done"
    """queued | running | done."""
    outcome: str | None = None
    reason: str | None = None
    error_class: str | None = None
    message: str | None = None
    site: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))
    matched: bool = False
    passed: bool = False
    values: dict[str, Any] = _json(dict)
    stand_ins: list[Any] = _json()
    substitutes: list[Any] = _json()
    guard_reached: bool = False
    checks: list[Any] = _json()
    claims: list[Any] = _json()
    expected: Any = Field(default=None, sa_column=Column(JSON))
    got: Any = Field(default=None, sa_column=Column(JSON))
    seconds: float = 0.0
    started_at: datetime = Field(default_factory=utc_now)
    torch: str | None = None
    python: str | None = None
    traceback: list[Any] = _json()
    stdout: str = ""
    isolation: list[Any] = _json()


class Run(RunBase, table=True):
    """A stored run; `id` is random, so that a link to it cannot be guessed."""

    id: str = Field(primary_key=True, max_length=16)
