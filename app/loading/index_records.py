"""Sites of many releases → one record a template, and the fixed strings that lead to it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from app.diagnosis.exits import SIGNALS
from app.diagnosis.fit import weight
from app.diagnosis.index import TemplateRecord, opening
from app.diagnosis.judging import bare
from app.diagnosis.markers import MARKERS
from app.diagnosis.places import leaf
from app.diagnosis.typography import folded
from app.knowledge.entry_file import EntryFile
from app.scanner.templates import parse

_LEAST: Final = 8
"""Letters and digits in a fixed string; shorter ones stand on too many lines."""
_WORDLESS: Final = 12
"""Letters and digits of fixed text below which an error is known by its place."""
_LONGEST_CONDITION: Final = 240
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?![\w.])")
_BRACES: Final = re.compile(r"\{[^{}]{0,200}\}?")
_WORD: Final = re.compile(r"[^\W_]")
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
"""Colours in a message; they are taken out of a log, too."""
_NOT_SHIPPED: Final = ("/test/", "/tests/")
"""An engine's own tests raise what no server prints."""
_TYPED: Final = ("raise", "assert")
_ELSE: Final = ("else", "exit")
"""Guards that are passed where their text does not hold."""
_CONDITIONS: Final = ("if", "assert", "check", *_ELSE)
_NEGATED: Final = re.compile(r"not [\w.]+")
_OWNER: Final = re.compile(r"\b(?:self|cfg|config|args|server_args)\.")
"""The object whose fields a condition speaks of; it changes where code moves."""
_LEAST_ALIKE: Final = 24
"""Letters of a condition that two bare asserts must share to be one."""


class Collector:
    """Gathers sites into records."""

    def __init__(
        self,
        successors: Mapping[str, str],
        families: Mapping[str, str],
        severities: Mapping[str, str],
        conditions: Mapping[str, str],
    ) -> None:
        self._successors = successors
        self._families = families
        self._severities = severities
        self._conditions = conditions
        self._records: dict[str, TemplateRecord] = {}
        self._places: defaultdict[str, dict[tuple[str, str], dict[int, list[int]]]] = defaultdict(
            dict
        )

    def add(self, release: int, package: str, site: Any) -> None:
        """Add one place.

        Args:
            release: number of its release; releases come in version order.
            package: canonical name.
            site: see `app.loading.index.SiteLike`; guards are used where it has them.
        """
        if any(part in site.file for part in _NOT_SHIPPED):
            return
        record = self._records.get(site.entry_id)
        if record is None or record.template != site.template or record.kind != site.kind:
            record = self._records[site.entry_id] = _record(package, site, record)
        record.condition = self._conditions.get(site.entry_id) or _condition(site)
        record.family = getattr(site, "family", None) or self._families.get(site.entry_id, "")
        lines = self._places[site.entry_id].setdefault((site.file, site.function), {})
        lines.setdefault(release, []).append(site.line)

    def explain(self, file: EntryFile, entry_id: str) -> None:
        """Add what an entry file says: to its record, or as one of its own."""
        record = self._records.get(self._latest(entry_id)) or self._records.get(entry_id)
        if record is None:
            record = self._records[entry_id] = _curated(file, entry_id)
        record.slug = file.slug
        record.title = file.title
        record.meaning = file.lead
        record.severity = file.facts.severity
        record.family = file.facts.family or record.family
        record.fixes = [f"**{s.title}.** {s.text}".strip() for s in file.solutions]
        record.not_this_if = list(file.not_this_if)
        if file.facts.raised_by:
            _by_library(record, file)
        record.pattern = file.facts.match or ""
        record.literals = list(file.facts.literals)

    def _latest(self, entry_id: str) -> str:
        seen = {entry_id}
        while (after := self._successors.get(entry_id)) and after not in seen:
            seen.add(after)
            entry_id = after
        return entry_id

    def records(self) -> list[TemplateRecord]:
        """All records, their places newest first."""
        for entry_id, record in self._records.items():
            places = self._places.get(entry_id, {})
            record.sites = (
                record.sites
                if record.raised_by
                else [
                    [file, function, {str(r): lines for r, lines in releases.items()}]
                    for (file, function), releases in sorted(
                        places.items(), key=lambda p: (-max(p[1]), p[0])
                    )
                ]
            )
            after = self._latest(entry_id)
            record.becomes = after if after != entry_id else ""
            record.severity = record.severity or self._severities.get(entry_id, "")
        self._link_bare()
        return list(self._records.values())

    def _link_bare(self) -> None:
        """Asserts without words that moved to another owner: `self.n > 0`, later `cfg.n > 0`."""
        alike: defaultdict[tuple[str, str], list[TemplateRecord]] = defaultdict(list)
        for record in self._records.values():
            if record.kind == "assert" and record.sites and weight(record.parts) == 0:
                condition = _OWNER.sub("", record.condition)
                if weight([condition]) >= _LEAST_ALIKE:
                    alike[record.package, condition].append(record)
        for group in alike.values():
            group.sort(key=_last)
            for one, later in pairwise(group):
                # where both stand in one release they are two, and nobody knows which it became
                if not one.becomes and _last(one) < _first(later):
                    one.becomes = group[-1].entry_id

    @staticmethod
    def by_function(records: Sequence[TemplateRecord]) -> dict[str, dict[str, list[int]]]:
        """Function name → class → records that a cut message, or any message, does not lead to.

        They are short of words, or begin with a value, so that their first words tell nothing.
        """
        found: defaultdict[str, dict[str, list[int]]] = defaultdict(dict)
        for number, record in enumerate(records):
            if record.kind not in _TYPED or record.raised_by:
                continue
            if weight(record.parts) < _WORDLESS or opening(record.parts[0]) is None:
                for name in {leaf(site[1]) for site in record.sites}:
                    found[name].setdefault(bare(record.error_class), []).append(number)
        return dict(found)


def _record(package: str, site: Any, before: TemplateRecord | None) -> TemplateRecord:
    # a log is matched with its typographic characters folded
    parts, holes = split(folded(_ESCAPES.sub("", site.template)))
    is_log = site.kind == "log"
    return TemplateRecord(
        entry_id=site.entry_id,
        package=package,
        error_class="" if is_log else site.error_class,
        kind=_louder(site.kind, before.kind if before else ""),
        template=site.template,
        parts=parts,
        holes=holes,
        level=site.error_class if is_log else "",
    )


def _louder(kind: str, before: str) -> str:
    """Of the kinds of one entry's places, the one that says most."""
    order = ("log", "http", "native", "argparse", "assert", "raise")
    return max((k for k in (kind, before) if k), key=lambda k: order.index(k) if k in order else 0)


def _last(record: TemplateRecord) -> int:
    """The newest release that has a record."""
    return max(int(r) for site in record.sites for r in site[2])


def _first(record: TemplateRecord) -> int:
    return min(int(r) for site in record.sites for r in site[2])


def _condition(site: Any) -> str:
    own = getattr(site, "condition", "")
    if own:
        return str(own)[:_LONGEST_CONDITION]
    for guard in reversed(getattr(site, "guards", ()) or ()):
        kind, text = _kind(guard), _text(guard)[:_LONGEST_CONDITION]
        if not text or kind not in _CONDITIONS:
            continue
        if kind in _ELSE:
            return text.removeprefix("not ") if _NEGATED.fullmatch(text) else f"not ({text})"
        if kind == "if" or site.kind in ("assert", "native"):
            return text
    return ""


def _text(guard: Any) -> str:
    return str(guard["text"] if isinstance(guard, Mapping) else guard[0])


def _kind(guard: Any) -> str:
    return str(guard["kind"] if isinstance(guard, Mapping) else guard[1])


def split(template: str) -> tuple[list[str], list[str]]:
    """A template as fixed parts and the expressions between them."""
    try:
        parsed = parse(template)
    except ValueError:
        # a native check's text with a brace or a quote that was cut in two
        pieces = _BRACES.split(template)
        return pieces, [f"{n}" for n in range(1, len(pieces))]
    parts, holes = [""], []
    for part in parsed:
        if isinstance(part, str):
            parts[-1] += part
        else:
            holes.append(part.expr)
            parts.append("")
    return parts, _distinct(holes)


def _distinct(names: list[str]) -> list[str]:
    seen: defaultdict[str, int] = defaultdict(int)
    out = []
    for name in names:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return out


def _curated(file: EntryFile, entry_id: str) -> TemplateRecord:
    facts = file.facts
    parts, holes = split(facts.message)
    kinds = {
        "exception": "raise",
        "assertion": "assert",
        "argument": "argparse",
        "silent": "silent",
    }
    return TemplateRecord(
        entry_id=entry_id,
        package=facts.package,
        error_class=facts.error_class,
        kind=kinds.get(facts.error_type, facts.error_type),
        template=facts.message,
        condition=facts.condition,
        parts=parts,
        holes=holes,
        level="error" if facts.error_type == "log" else "",
    )


def _by_library(record: TemplateRecord, file: EntryFile) -> None:
    """An error that a library raises: its place is a function of the engine, its numbers vary."""
    record.raised_by = str(file.facts.raised_by)
    record.sites = [[*place.split("::", 1), {}] for place in file.facts.places]
    parts, holes = [""], []
    for i, part in enumerate(record.parts):
        if i:
            parts.append("")
            holes.append(record.holes[i - 1])
        pieces = _NUMBER.split(part)
        parts[-1] += pieces[0]
        for piece in pieces[1:]:
            holes.append(f"n{len(holes) + 1}")
            parts.append(piece)
    record.parts, record.holes = parts, holes


def by_class(records: Sequence[TemplateRecord]) -> dict[str, list[int]]:
    """Class → curated records with a pattern but no fixed string, such as a KeyError's key."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, record in enumerate(records):
        if record.pattern and not record.literals:
            found[bare(record.error_class)].append(number)
    return dict(found)


def openings(records: Sequence[TemplateRecord]) -> dict[str, list[int]]:
    """First letters of a message → records, for messages cut off or worded a little differently."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, record in enumerate(records):
        start = opening(record.parts[0]) if record.kind != "log" else None
        if start:
            found[start].append(number)
    return dict(found)


def link_literals(
    records: Sequence[TemplateRecord],
) -> tuple[list[bytes], list[list[int]]]:
    """The fixed strings to look for, and the records that each leads to."""
    postings: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, record in enumerate(records):
        if record.error_class in SIGNALS.values():
            continue  # exit codes are read by `app.diagnosis.exits`, in all their forms
        # large logs are searched as they are, before anything is folded
        as_is = [] if record.template.isascii() else _longest(split(record.template)[0])
        for text in record.literals or {*_longest(record.parts), *as_is}:
            postings[text.encode("utf-8", "replace")].append(number)
    for marker in MARKERS:
        postings.setdefault(marker, [])
    literals = sorted(postings)
    return literals, [sorted(set(postings[text])) for text in literals]


def _longest(parts: Iterable[str]) -> list[str]:
    """The piece with the most letters that stands on one line."""
    pieces = (piece.strip() for part in parts for piece in part.split("\n"))
    best = max(pieces, key=lambda p: (len(_WORD.findall(p)), len(p)), default="")
    return [best] if len(_WORD.findall(best)) >= _LEAST else []
