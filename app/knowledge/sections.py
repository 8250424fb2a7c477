"""Reads the shape that every curated file has: a TOML fence, a title, a first paragraph, headings.

It knows nothing of what the headings mean. Every complaint names the file and the line, because
the people who write these files meet this parser more often than any other part of the project.
"""

import itertools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.exceptions import BadInputError

_TOML_LINE = re.compile(r"at line (\d+)")


class BadFileError(BadInputError):
    """A curated file breaks its format; the message starts with `file:line:`."""

    def __init__(self, path: Path, line: int, what: str) -> None:
        super().__init__(f"{path}:{line}: {what}")
        self.path, self.line, self.what = path, line, what


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one `## Heading`."""

    heading: str
    line: int
    """Line of the heading, from 1."""
    text: str
    text_line: int
    """Line of the text's first line."""


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block of code."""

    info: str
    """What stands behind the backticks: `python broken`."""
    code: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class SectionedFile:
    """A curated file, taken apart."""

    path: Path
    facts: dict[str, Any]
    title: str
    title_line: int
    lead: str
    """The first paragraph; empty if there is none."""
    intro: str
    """Everything between the title and the first heading, the first paragraph included."""
    sections: tuple[Section, ...]

    def bad(self, line: int, what: str) -> BadFileError:
        """The error that names this file and a line of it."""
        return BadFileError(self.path, line, what)


def read_sections(path: Path, text: str | None = None, *, titled: bool = True) -> SectionedFile:
    """Take a curated file apart.

    Args:
        path: the file, named in complaints.
        text: its content; read from `path` if None.
        titled: whether a `# Title` stands behind the fence (a family has it in its fence).

    Raises:
        BadFileError: the file breaks the format.
    """
    if text is None:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as e:
            raise BadFileError(path, 1, f"is not UTF-8 ({e.reason})") from e
    lines = text.splitlines()
    facts, at = _facts(path, lines)
    title_at = _title(path, lines, at) if titled else None
    after = at if title_at is None else title_at + 1
    heads = _headings(path, lines, after)
    first = heads[0] if heads else len(lines)
    intro, _ = _trim(lines, after, first)
    bounds = [*heads, len(lines)]
    sections = []
    for start, end in itertools.pairwise(bounds):
        body, body_line = _trim(lines, start + 1, end)
        sections.append(Section(lines[start][3:].strip(), start + 1, body, body_line))
    return SectionedFile(
        path=path,
        facts=facts,
        title="" if title_at is None else lines[title_at][2:].strip(),
        title_line=after,
        lead=" ".join(intro.split("\n\n", 1)[0].split()),
        intro=intro,
        sections=tuple(sections),
    )


def read_facts(path: Path) -> dict[str, Any]:
    """The TOML fence of a curated file alone, for whoever needs no more of it.

    Raises:
        BadFileError: the file does not begin with one.
    """
    facts, _ = _facts(path, path.read_text(encoding="utf-8").splitlines())
    return facts


def fences(text: str, first_line: int = 1) -> list[Fence]:
    """All fenced blocks of a text, in order; an indented fence loses its indentation."""
    found: list[Fence] = []
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        opened = re.match(r"^(\s*)(`{3,}|~{3,})\s*(.*?)\s*$", lines[i])
        if opened is None:
            i += 1
            continue
        indent, mark, info = opened.groups()
        end = next(
            (j for j in range(i + 1, len(lines)) if _closes(lines[j].strip(), mark)), len(lines)
        )
        body = [_dedent(line, len(indent)) for line in lines[i + 1 : end]]
        found.append(Fence(info, "\n".join(body), first_line + i, first_line + end))
        i = end + 1
    return found


def _dedent(line: str, width: int) -> str:
    return line[width:] if not line[:width].strip() else line.lstrip()


def _closes(line: str, mark: str) -> bool:
    return line.startswith(mark) and not line.strip(mark[0])


def _facts(path: Path, lines: list[str]) -> tuple[dict[str, Any], int]:
    """The TOML fence at the top and the index of the line after it."""
    start = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if not lines or lines[start].strip() != "```toml":
        raise BadFileError(path, start + 1, "expected the file to start with a ```toml fence")
    end = next((i for i in range(start + 1, len(lines)) if lines[i].strip() == "```"), None)
    if end is None:
        raise BadFileError(path, start + 1, "the ```toml fence is not closed")
    try:
        return tomllib.loads("\n".join(lines[start + 1 : end])), end + 1
    except tomllib.TOMLDecodeError as e:
        inside = _TOML_LINE.search(str(e))
        line = start + 1 + int(inside.group(1)) if inside else start + 1
        raise BadFileError(path, line, f"not TOML: {e}") from e


def _title(path: Path, lines: list[str], at: int) -> int:
    """Index of the `# …` line that must be the first behind the fence."""
    found = next((i for i in range(at, len(lines)) if lines[i].strip()), len(lines))
    if found == len(lines) or not lines[found].startswith("# "):
        raise BadFileError(path, found + 1, "expected the title, `# …`, right after the fence")
    return found


def _headings(path: Path, lines: list[str], at: int) -> list[int]:
    """Indexes of the `## ` lines outside of fences."""
    heads: list[int] = []
    mark: str | None = None
    opened = at
    for i in range(at, len(lines)):
        if mark is not None:
            if _closes(lines[i].strip(), mark):
                mark = None
            continue
        fence = re.match(r"^\s*(`{3,}|~{3,})", lines[i])
        if fence:
            mark, opened = fence.group(1), i
        elif lines[i].startswith("## "):
            heads.append(i)
        elif lines[i].startswith("# "):
            raise BadFileError(path, i + 1, "a second title; a file has one `# …` line")
    if mark is not None:
        raise BadFileError(path, opened + 1, "this fence is not closed")
    return heads


def _trim(lines: list[str], start: int, end: int) -> tuple[str, int]:
    """Lines start..end without blank edges, and the line number (from 1) they begin at."""
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end]), start + 1
