"""Reads `data/errors/<slug>.md`: what people wrote about one error, checked to the last heading.

The headings are fixed, in this order. An unknown key, an unknown heading, a missing section or a
snippet that does not define its function is an error with file and line. Nothing is in such a file
that is known elsewhere: no line numbers, no releases.
"""

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from app.knowledge import entry_sections
from app.knowledge.entry_sections import Correction, ExampleFix, Solution
from app.knowledge.sections import BadFileError, SectionedFile, fences, read_sections

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ERROR_TYPES = ("exception", "assertion", "argument", "http", "log", "native", "silent")
_SEVERITIES = ("stops-server", "refused-at-launch", "request-fails", "wrong-result", "warning")
HEADINGS = (
    "Solutions", "Example fix", "Not this if", "Why", "Trigger scenarios", "Common situations",
    "Validation code", "Type guard", "Try and except", "Prevention tips", "Corrections",
)  # fmt: skip
_ALWAYS = ("Solutions", "Not this if", "Why")
"""What even the entry of another library's error must say; an engine's own must say it all."""


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class EntryFacts(BaseModel):
    """The TOML fence: what no machine can find out."""

    model_config = ConfigDict(extra="forbid")

    package: str = Field(min_length=1)
    error_class: str = Field(min_length=1)
    error_type: str
    message: str = ""
    """The template; empty only where the source has no words: then the condition stands in."""
    condition: str = ""
    """What stands in for words that are not there, see `app.scanner.identity`."""
    aliases: list[str] = []
    severity: str
    family: str | None = None
    tags: list[str] = []
    related: list[str] = []
    handling_strategy: str | None = None
    raised_by: str | None = None
    places: list[str] = []
    match: str | None = None
    literals: list[str] = []
    http_status: int | None = None
    error_code: str | None = None


class EntryFile(_Shape):
    """An explained entry: the facts of its fence and its parsed sections."""

    slug: str
    facts: EntryFacts
    title: str
    lead: str
    """One or two sentences of meaning, Markdown."""
    solutions: list[Solution] = []
    example_fix: ExampleFix | None = None
    not_this_if: list[str] = []
    why: str = ""
    trigger_scenarios: list[str] = []
    common_situations: list[str] = []
    validation_code: str | None = None
    type_guard: str | None = None
    try_and_except: str | None = None
    prevention_tips: list[str] = []
    corrections: list[Correction] = []

    def snippets(self) -> dict[str, str]:
        """The curated code that a reproducer executes, by its heading."""
        pairs = {
            "Validation code": self.validation_code,
            "Type guard": self.type_guard,
            "Try and except": self.try_and_except,
        }
        if self.example_fix:
            pairs["Example fix (broken)"] = self.example_fix.broken
            pairs["Example fix (fixed)"] = self.example_fix.fixed
        for solution in self.solutions:
            blocks = fences(solution.text, 1)
            pairs[f"Solutions: {solution.title}"] = "\n".join(block.code for block in blocks)
        return {heading: code for heading, code in pairs.items() if code}


def read_entry_file(path: Path, text: str | None = None) -> EntryFile:
    """Read one entry file.

    Args:
        path: `…/<slug>.md`; its name is the slug.
        text: the content; read from `path` if None.

    Raises:
        BadFileError: the file breaks its format; the message names file and line.
    """
    file = read_sections(path, text)
    if not _SLUG.fullmatch(path.stem):
        raise file.bad(1, f"{path.stem!r} is no slug: small letters, digits and single hyphens")
    facts = _facts(file)
    if not file.title:
        raise file.bad(file.title_line, "the title is empty")
    if not file.lead:
        raise file.bad(file.title_line, "one or two sentences of meaning are missing here")
    if file.intro.strip().count("\n\n"):
        raise file.bad(file.title_line, "only one paragraph may stand before the first heading")
    _check_headings(file, facts)
    parsed: dict[str, Any] = {}
    for section in file.sections:
        key, read = entry_sections.READERS[section.heading]
        parsed[key] = read(file, section)
    return EntryFile(slug=path.stem, facts=facts, title=file.title, lead=file.lead, **parsed)


def read_entry_files(folder: Path) -> list[EntryFile]:
    """Read every entry file of a folder, in the order of their slugs.

    Raises:
        BadFileError: the first file that breaks its format.
    """
    return [read_entry_file(path) for path in sorted(folder.glob("*.md"))]


def _facts(file: SectionedFile) -> EntryFacts:
    try:
        facts = EntryFacts.model_validate(file.facts)
    except ValidationError as e:
        first = e.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        known = ", ".join(EntryFacts.model_fields)
        said = {
            "extra_forbidden": f"unknown key {key!r}; known are {known}",
            "missing": f"the key {key!r} is missing",
        }.get(first["type"], f"{key}: {first['msg']}")
        raise file.bad(_line_of(file, key.split(".")[0]), said) from e
    for key, value, allowed in (
        ("error_type", facts.error_type, _ERROR_TYPES),
        ("severity", facts.severity, _SEVERITIES),
    ):
        if value not in allowed:
            raise file.bad(_line_of(file, key), f"{key} {value!r} is none of {', '.join(allowed)}")
    if bool(facts.message) == bool(facts.condition):
        said = "give the message, or the condition (`assert n == m`) of an error without words"
        raise file.bad(_line_of(file, "message"), said)
    if facts.places and not facts.raised_by and facts.error_type != "silent":
        said = "places stand only where raised_by is given, or where nothing is raised (silent)"
        raise file.bad(_line_of(file, "places"), said)
    if facts.match is not None:
        try:
            re.compile(facts.match)
        except re.error as e:
            raise file.bad(_line_of(file, "match"), f"match is no regular expression: {e}") from e
    return facts


def _line_of(file: SectionedFile, key: str) -> int:
    """The line where a key of the fence stands; the fence's first if it does not."""
    try:
        lines = file.path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 1
    pattern = re.compile(rf"^\s*{re.escape(key)}\s*=")
    return next((i for i, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _check_headings(file: SectionedFile, facts: EntryFacts) -> None:
    at = -1
    for section in file.sections:
        if section.heading not in HEADINGS:
            raise file.bad(
                section.line,
                f"unknown heading {section.heading!r}; known are {', '.join(HEADINGS)}",
            )
        position = HEADINGS.index(section.heading)
        if position <= at:
            raise file.bad(
                section.line,
                f"{section.heading!r} stands twice or after {HEADINGS[at]!r}; "
                f"the order is {', '.join(HEADINGS)}",
            )
        at = position
        if not section.text:
            raise file.bad(section.line, f"{section.heading!r} is empty")
    present = {section.heading for section in file.sections}
    for heading in HEADINGS if facts.package == "sglang" else _ALWAYS:
        if heading not in present:
            last = file.sections[-1].line if file.sections else file.title_line
            raise file.bad(last, f"the section {heading!r} is missing")


__all__ = ["BadFileError", "EntryFacts", "EntryFile", "read_entry_file", "read_entry_files"]
