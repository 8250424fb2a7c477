"""Takes a Markdown list apart into the source text of its items."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt

_OPENERS = {"bullet": "bullet_list_open", "ordered": "ordered_list_open"}


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list."""

    text: str
    """Its Markdown without the marker, dedented."""
    line: int
    """Line within the text that was taken apart, from 0."""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


class NotAListError(ValueError):
    """The text is not exactly one list of the wanted kind; `line` counts from 0 within it."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def list_items(text: str, kind: Literal["bullet", "ordered"]) -> list[Item]:
    """The items of a text that is one list and nothing else.

    Raises:
        NotAListError: something else stands there; `line` counts from 0 within the text.
    """
    tokens = _parser().parse(text)
    top = [t for t in tokens if t.level == 0 and t.nesting >= 0]
    name = {"bullet": "a bullet list", "ordered": "a numbered list"}[kind]
    if not top:
        raise NotAListError(f"expected {name}; the section is empty", 0)
    for token in top:
        if token.type != _OPENERS[kind]:
            line = (token.map or [0])[0]
            raise NotAListError(f"expected {name} and nothing else", line)
    if len(top) > 1:
        raise NotAListError(f"expected one list, found {len(top)}", (top[1].map or [0])[0])
    lines = text.splitlines()
    items = []
    for token in tokens:
        if token.type != "list_item_open" or token.level != 1 or token.map is None:
            continue
        start, end = token.map
        block = lines[start:end]
        width = len(block[0]) - len(_without_marker(block[0]))
        body = [block[0][width:], *(_dedent(line, width) for line in block[1:])]
        items.append(Item("\n".join(body).strip(), start))
    return items


def _without_marker(line: str) -> str:
    bare = line.lstrip()
    rest = bare.lstrip("0123456789")
    return rest[1:].lstrip(" ")


def _dedent(line: str, width: int) -> str:
    return line[width:] if not line[:width].strip() else line.lstrip()
