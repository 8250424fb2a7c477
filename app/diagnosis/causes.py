"""What came first, what followed, what merely echoes.

Within a chain of exceptions the innermost error is the cause, unless it was only a look-up whose
failure a later, explained error puts into words. Between processes it is time that decides, or the
order of lines where times are missing. Echoes (`app.diagnosis.echoes`) are never the cause as long
as anything else is there, and a request that failed is not why a server stopped.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from app.diagnosis.echoes import Echo, echo
from app.diagnosis.fit import dense, weight
from app.diagnosis.judging import bare
from app.diagnosis.matches import Match
from app.diagnosis.patterns import lazy
from app.diagnosis.places import canonical, leaf
from app.diagnosis.result import Role
from app.diagnosis.units import Unit

_LOOKUPS: Final = frozenset((
    "KeyError", "IndexError", "AttributeError", "StopIteration", "ModuleNotFoundError",
    "ImportError", "FileNotFoundError", "NameError", "UnboundLocalError", "HTTPError",
    "HTTPStatusError", "Empty", "LocalEntryNotFoundError", "EntryNotFoundError",
    "RepositoryNotFoundError", "GatedRepoError", "ConnectionError", "MaxRetryError",
    "NewConnectionError", "ConnectTimeout", "ReadTimeout", "JSONDecodeError", "TypeError",
    "ValidationError", "OfflineModeIsEnabled", "gaierror", "timeout", "ConnectionRefusedError",
    "ConnectError", "SSLError", "OSError", "CalledProcessError",
))  # fmt: skip
"""Classes whose message says little: the error raised on their account says more."""
_FOLLOWS: Final = frozenset({("hub-access-denied", "hub-file-missing")})
"""(entry, entry) where the later one only follows: what a hub does not show is not found."""
_TYPED: Final = ("raise", "assert", "argparse", "silent")
_QUOTED: Final = lazy(
    r"(?:exception|error|failed|due to|: ) ?(?P<cls>[A-Z]\w{2,60}(?:Error"
    r"|Exception))(?:\([^()\n]{0,300}\))?: "
)
"""An exception that a log line quotes."""
_HANDLED: Final = lazy(
    r"ASGI application|ignored|[Ii]gnore|[Rr]etry|[Ff]all(?:ing)? ?back|[Ww]arning|callback|health",
)
_FATAL: Final = lazy(r"hit an exception|[Ff]atal|EngineCore|failed to start|Process \S+:$")
_NEAR: Final = 8
"""Lines between a record and the traceback it announces."""
_TIES: Final = 2.0
"""Seconds within which the order of lines is believed rather than the clocks of two processes."""


@dataclass(slots=True, eq=False)
class Draft:
    """A unit on its way to a finding."""

    unit: Unit
    match: Match | None
    chain: list["Draft"] = field(default_factory=list)
    """All exceptions of its traceback, in the order of printing; empty outside of one."""
    echo: Echo | None = None
    role: Role | None = None
    note: str = ""
    """Why it has this role."""
    announced: Unit | None = None
    """The log line that put an exception without words into words."""

    @property
    def message(self) -> str:
        """What was said, by the exception or by the line that announced it."""
        if self.unit.kind == "said" and self.match and not self.match.opens:
            start, end = self.match.span
            return self.unit.text[start:end]
        return self.unit.message or (self.announced.message if self.announced else "")

    @property
    def error_class(self) -> str | None:
        """The class as the log writes it, else the catalog's."""
        answered = self.announced is not None and self.announced.kind == "http"
        if self.unit.error_class and self.unit.kind != "http" and not answered:
            return self.unit.error_class
        if self.match and self.match.record.kind in _TYPED:
            return self.match.record.error_class
        quoted = _QUOTED().search(self.unit.message[:4_000])
        if quoted:
            return quoted["cls"]
        return (
            self.unit.error_class or (self.match.record.error_class if self.match else None) or None
        )

    @property
    def key(self) -> str:
        """What makes two drafts the same error."""
        if self.match:
            return dense("{}".join(self.match.record.parts)) or self.match.record.entry_id
        text = re.sub(r"0x[0-9a-f]+|\d+", "0", self.unit.message)
        place = ""
        if not text and self.unit.raised and self.unit.raised.frames:
            frame = self.unit.raised.frames[-1]
            place = f"{frame.file}:{frame.line}"
        return f"{bare(self.unit.error_class or '')}:{dense(text)[:400]}{place}"

    @property
    def known(self) -> bool:
        """An entry explains it, and not only what Python's class of errors means in general."""
        return self.match is not None and self.match.record.package != "python"

    @property
    def fatal(self) -> bool:
        """It stopped a process, as far as the log shows."""
        raised = self.unit.raised
        if raised is None:
            return (
                self.unit.kind == "said"
                and self.match is not None
                and self.match.record.kind
                in (
                    "argparse",
                    "native",
                )
            )
        lead = self.chain[-1].unit.raised.lead if self.chain and self.chain[-1].unit.raised else ""
        lead = f"{raised.lead} {lead}"
        if _FATAL().search(lead):
            return True
        return not _HANDLED().search(lead) and self.unit.lines[:1] != [] and not self.soft

    @property
    def soft(self) -> bool:
        """The program itself calls it a warning."""
        raised = self.unit.raised
        if raised is None:
            quiet = bool(self.match and self.match.record.level.lower().endswith("warning"))
            return quiet and self.unit.kind != "http"
        return (raised.level or "").startswith("WARN")


def within_chain(chain: list[Draft]) -> Draft:
    """The draft of a chain that names the cause; roles of the others are set.

    Args:
        chain: exceptions of one traceback in the order of printing.
    """
    cause = chain[0]
    for draft in chain[1:]:
        if draft.match and not draft.match.opens and _same_entry(draft, chain):
            draft.match = None  # it only quotes the error it was raised for
        if _says_more(cause, draft):
            cause.note = "the error raised on its account says more"
            cause = draft
        else:
            draft.note = (
                "repeats the error it was raised for"
                if _repeats(cause, draft)
                else "raised while the first error was handled"
            )
    for draft in chain:
        if draft is not cause:
            draft.role = "consequence"
    return cause


def _same_entry(draft: Draft, chain: list[Draft]) -> bool:
    return any(
        other.match and draft.match and other.match.record is draft.match.record
        for other in chain
        if other is not draft
    )


def _says_more(first: Draft, later: Draft) -> bool:
    """Whether a later exception explains what the first only stumbled over."""
    raised = later.unit.raised
    relation = raised.relation if raised is not None else None
    name = first.unit.error_class or ""
    if relation == "group":
        return "Group" in name or name.endswith(")")
    if first.match and later.match and first.match.record is later.match.record:
        return bare(name) in _LOOKUPS
    if _repeats(first, later) or not later.unit.message:
        return False
    if bool(first.echo) != bool(later.echo):
        return bool(first.echo)
    if bare(name) in _LOOKUPS and (_slug(first), _slug(later)) not in _FOLLOWS:
        return later.known or (not first.known and _same_function(first, later))
    return later.known and not first.known and relation == "cause"


def _slug(draft: Draft) -> str:
    return draft.match.record.slug if draft.match else ""


def _repeats(first: Draft, later: Draft) -> bool:
    said = dense(first.unit.message)[:120]
    return bool(said) and len(said) > 3 and said in dense(later.unit.message)  # noqa: PLR2004  # a key of two letters stands everywhere


def _same_function(first: Draft, later: Draft) -> bool:
    """A look-up and its translation share the function that catches and raises."""
    a, b = first.unit.raised, later.unit.raised
    if a is None or b is None or not b.frames:
        return False
    return leaf(b.frames[-1].function) in {leaf(f.function) for f in a.frames}


@dataclass(slots=True)
class Group:
    """Drafts that are the same error, at one rank or many."""

    drafts: list[Draft]
    role: Role | None = None
    note: str = ""

    @property
    def first(self) -> Draft:
        """The one that came first."""
        return self.drafts[0]

    @property
    def line(self) -> int:
        """Where it begins in the log."""
        return min(d.unit.first for d in self.drafts)

    @property
    def time(self) -> float | None:
        """When the first one was printed."""
        times = [d.unit.time for d in self.drafts if d.unit.time is not None]
        return min(times) if times else None


def group(drafts: list[Draft]) -> list[Group]:
    """Put drafts of the same error together, in the order of the log."""
    groups: dict[str, Group] = {}
    for draft in sorted(drafts, key=lambda d: d.unit.first):
        known = groups.get(draft.key)
        if known is None:
            groups[draft.key] = Group([draft])
        else:
            known.drafts.append(draft)
    for one in groups.values():
        # an exception says more than the log line that announced it, a cause than what it led to
        timed = all(d.unit.time is not None for d in one.drafts)
        one.drafts.sort(
            key=lambda d: (
                d.role is not None,
                d.unit.kind != "raised",
                d.unit.time if timed and d.unit.time is not None else 0.0,
                d.unit.first,
            )
        )
    return list(groups.values())


def assign(groups: list[Group]) -> Group | None:
    """Give every group its role; the cause is returned, None if there are only echoes."""
    own = []
    for one in groups:
        draft = one.first
        if draft.echo:
            one.role, one.note = "echo", draft.echo.says
        elif (raised := [d for d in one.drafts if d.unit.raised]) and all(
            d.role == "consequence" for d in raised
        ):
            one.role, one.note = "consequence", raised[0].note
        elif all(d.soft for d in one.drafts):
            one.role, one.note = "warning", "the program calls it a warning"
        else:
            own.append(one)
    fatal = [g for g in own if any(d.fatal for d in g.drafts)]
    hangs = [g for g in groups if g.first.echo and g.first.echo.kind == "hang"]
    if not own and hangs:
        # nobody failed, somebody hangs: the time-out is all there is to know
        own = fatal = hangs
    cause = _earliest(fatal or own)
    for one in own:
        if one is cause:
            one.role = "root-cause"
            one.note = "the first error of its kind in the log" if len(own) > 1 else ""
        elif cause is not None and one not in fatal and fatal and not _after(one, cause):
            one.role, one.note = (
                "warning",
                "a failed request or a handled error; the server went on",
            )
        else:
            one.role, one.note = "consequence", "came after the first error"
    return cause


def _after(one: Group, cause: Group) -> bool:
    """Whether a group came after the cause: by the clock where both have one, else by line."""
    if one.time is not None and cause.time is not None and one.time != cause.time:
        return one.time > cause.time
    return one.line > cause.line


def _earliest(groups: list[Group]) -> Group | None:
    """By the clock where all have one and the clocks differ enough, else by line."""
    if not groups:
        return None
    times = [g.time for g in groups]
    if all(t is not None for t in times):
        first = min(t for t in times if t is not None)
        near = [g for g in groups if g.time is not None and g.time - first <= _TIES]
        return min(near, key=lambda g: g.line)
    return min(groups, key=lambda g: g.line)


def announce(drafts: list[Draft]) -> list[Draft]:
    """Join exceptions without words with the log line of the handler that raised them again.

    `logger.error("Rank 0 scheduler is dead"); raise` prints a record and then a traceback that ends
    in a bare `EOFError`: the record's place is a function of the traceback.
    """
    joined: set[int] = set()
    for draft in drafts:
        raised = draft.unit.raised
        if raised is None or draft.match or draft.unit.message or not raised.frames:
            continue
        for said in drafts:
            near = 0 <= raised.first - said.unit.first <= _NEAR and said.unit.kind == "said"
            if near and said.match and _stands_in(said.match, draft.unit):
                draft.match, draft.announced = said.match, said.unit
                draft.echo = said.echo or draft.echo
                joined.add(id(said))
                break
    return [d for d in drafts if id(d) not in joined]


def _stands_in(match: Match, unit: Unit) -> bool:
    if unit.raised is None:
        return False
    shown = {(canonical(f.file)[1], leaf(f.function)) for f in unit.raised.frames}
    return any((site[0], leaf(site[1])) in shown for site in match.record.sites)


def with_echo(unit: Unit, match: Match | None) -> Draft:
    """A draft that knows whether it is an echo.

    A class such as EOFError speaks of a peer; not so where the engine raises it in its own words.
    """
    own = match is not None and match.placed and weight(match.record.parts) > 0
    return Draft(unit, match, echo=echo(None if own else unit.error_class, unit.message))
