"""Reads `data/families/<tag>.md`: what a failure class is, how it reads, how to tell it apart."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from app.knowledge.sections import read_sections


class FamilyFacts(BaseModel):
    """The TOML fence of a family."""

    model_config = ConfigDict(extra="forbid")

    title: str
    summary: str
    near: list[str] = []
    """Tags of the families it is easily taken for."""


class FamilyFile(BaseModel):
    """A failure class: its facts and its sections in order."""

    tag: str
    facts: FamilyFacts
    sections: list[tuple[str, str]]
    """(heading, Markdown)."""


def read_family_file(path: Path, text: str | None = None) -> FamilyFile:
    """Read one family file.

    Raises:
        BadFileError: the file breaks its format; the message names file and line.
    """
    file = read_sections(path, text, titled=False)
    try:
        facts = FamilyFacts.model_validate(file.facts)
    except ValidationError as e:
        first = e.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise file.bad(1, f"{key}: {first['msg']}") from e
    if not file.sections:
        raise file.bad(1, "a family needs at least one `## …` section")
    for section in file.sections:
        if not section.text:
            raise file.bad(section.line, f"{section.heading!r} is empty")
    sections = [(section.heading, section.text) for section in file.sections]
    return FamilyFile(tag=path.stem, facts=facts, sections=sections)


def read_family_files(folder: Path) -> dict[str, FamilyFile]:
    """All families of a folder by tag.

    Raises:
        BadFileError: a file breaks its format, or names a family that does not exist.
    """
    found = {path.stem: read_family_file(path) for path in sorted(folder.glob("*.md"))}
    for tag, family in found.items():
        for near in family.facts.near:
            if near not in found:
                raise read_sections(folder / f"{tag}.md", titled=False).bad(
                    1, f"near names {near!r}, and there is no such family"
                )
    return found
