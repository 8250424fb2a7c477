"""What may stand under each heading of an entry file, and what it becomes."""

import ast
import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from app.knowledge.markdown_lists import NotAListError, list_items
from app.knowledge.sections import Section, SectionedFile, fences
from app.python_source import parse_python

_BOLD_START = re.compile(r"\*\*(?P<title>.+?)\*\*\s*", re.DOTALL)
_CORRECTION = re.compile(
    r"\*\*Said:\*\*\s*(?P<said>.+?)\s*"
    r"\*\*The code does:\*\*\s*(?P<does>.+?)\s*"
    r"\*\*Run:\*\*\s*`(?P<run>[^`]+)`\.?",
    re.DOTALL,
)


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Solution(_Shape):
    """One way out, best first in the file."""

    title: str
    text: str
    """Markdown behind the title, code included."""


class ExampleFix(_Shape):
    """The smallest change, as two pieces of code."""

    language: str
    broken: str
    fixed: str


class Correction(_Shape):
    """A wrong claim about the error, and what is so instead."""

    said: str
    code_does: str
    run: str
    """Id of the check or claim, in a run of the entry, that shows it."""


def _bullets(file: SectionedFile, section: Section) -> list[str]:
    try:
        return [item.text for item in list_items(section.text, "bullet")]
    except NotAListError as e:
        raise file.bad(section.text_line + e.line, f"{section.heading}: {e}") from e


def _solutions(file: SectionedFile, section: Section) -> list[Solution]:
    try:
        items = list_items(section.text, "ordered")
    except NotAListError as e:
        raise file.bad(section.text_line + e.line, f"{section.heading}: {e}") from e
    found = []
    for item in items:
        start = _BOLD_START.match(item.text)
        if start is None:
            raise file.bad(
                section.text_line + item.line, "a solution begins with its title: `**Title.** text`"
            )
        title = " ".join(start["title"].split()).rstrip(".:")
        found.append(Solution(title=title, text=item.text[start.end() :].strip()))
    return found


def _example(file: SectionedFile, section: Section) -> ExampleFix:
    blocks = fences(section.text, section.text_line)
    infos = [block.info.split() for block in blocks]
    shape = [info[1:] for info in infos]
    if shape != [["broken"], ["fixed"]] or infos[0][0] != infos[1][0]:
        raise file.bad(
            section.text_line, "expected two fences, ```python broken and ```python fixed"
        )
    _only_fences(file, section)
    return ExampleFix(language=infos[0][0], broken=blocks[0].code, fixed=blocks[1].code)


def _only_fences(file: SectionedFile, section: Section) -> None:
    inside = {
        line
        for block in fences(section.text, section.text_line)
        for line in range(block.line, block.end_line + 1)
    }
    for line, text in enumerate(section.text.splitlines(), section.text_line):
        if line not in inside and text.strip():
            raise file.bad(line, f"{section.heading}: only code may stand here")


def _snippet(defines: str) -> Callable[[SectionedFile, Section], str]:
    """A reader for one fence of Python that defines a function of the given name or prefix."""

    def read(file: SectionedFile, section: Section) -> str:
        blocks = fences(section.text, section.text_line)
        if len(blocks) != 1 or blocks[0].info != "python":
            raise file.bad(section.text_line, f"{section.heading}: expected one ```python fence")
        _only_fences(file, section)
        try:
            tree = parse_python(blocks[0].code)
        except SyntaxError as e:
            line = blocks[0].line + (e.lineno or 0)
            raise file.bad(line, f"{section.heading}: not Python: {e.msg}") from e
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        prefix = defines.endswith("_")
        if not any(name.startswith(defines) if prefix else name == defines for name in names):
            wanted = f"{defines}…" if prefix else defines
            raise file.bad(
                blocks[0].line, f"{section.heading}: the code must define `{wanted}(...)`"
            )
        return blocks[0].code

    return read


def _corrections(file: SectionedFile, section: Section) -> list[Correction]:
    try:
        items = list_items(section.text, "bullet")
    except NotAListError as e:
        raise file.bad(section.text_line + e.line, f"{section.heading}: {e}") from e
    found = []
    for item in items:
        match = _CORRECTION.fullmatch(item.text)
        if match is None:
            raise file.bad(
                section.text_line + item.line,
                "a correction reads `**Said:** … **The code does:** … **Run:** `check id``",
            )
        found.append(Correction(said=match["said"], code_does=match["does"], run=match["run"]))
    return found


def _prose(_file: SectionedFile, section: Section) -> str:
    return section.text


READERS: dict[str, tuple[str, Callable[[SectionedFile, Section], Any]]] = {
    "Solutions": ("solutions", _solutions),
    "Example fix": ("example_fix", _example),
    "Not this if": ("not_this_if", _bullets),
    "Why": ("why", _prose),
    "Trigger scenarios": ("trigger_scenarios", _bullets),
    "Common situations": ("common_situations", _bullets),
    "Validation code": ("validation_code", _snippet("validate")),
    "Type guard": ("type_guard", _snippet("is_")),
    "Try and except": ("try_and_except", _snippet("guarded")),
    "Prevention tips": ("prevention_tips", _bullets),
    "Corrections": ("corrections", _corrections),
}
"""Heading → the field it fills and the reader that checks it."""
