"""Which templates is a pasted text a message of?

An automaton looks for a fixed piece of every template at once; a template whose piece is there
counts only if all its fixed parts follow each other in the text. White space and case do not count,
since terminals wrap lines; what stands before and behind the message does not either.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick

from app.diagnosis.fit import weight
from app.scanner.templates import parse

MOST = 10
"""The most entries that one text may be a message of."""
_ENOUGH = 12
"""Letters and digits of fixed text that are found in no message by chance."""
_SHARE = 0.6
"""Of the text's letters and digits, that shorter templates must account for."""
_MUCH = 0.5
"""A fit with less than this share of the best one's fixed text is left out."""
_LONGEST_PIECE = 24
_SHORTEST_PIECE = 3
_MAX_PASTE = 20_000


class Shape(NamedTuple):
    """A template as it is looked for: lower case, without white space."""

    entry_id: str
    parts: list[str]
    """The fixed text around the holes."""
    piece: str
    """A stretch of it."""
    weight: int
    """Letters and digits in the parts."""


def shape_of(entry_id: str, template: str) -> Shape | None:
    """The shape of a template; None if it has too little text of its own to be told by."""
    parts = [_dense(part) for part in _fixed_parts(template)]
    piece = max(parts, key=len)[:_LONGEST_PIECE]
    if weight([piece]) < _SHORTEST_PIECE:
        return None
    return Shape(entry_id, [part for part in parts if part], piece, weight(parts))


class Templates:
    """The shapes of all entries' messages, every wording."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        """Index the shapes."""
        by_piece: dict[str, list[Shape]] = {}
        for shape in shapes:
            by_piece.setdefault(shape.piece, []).append(shape)
        self._owners = list(by_piece.values())
        self._automaton = AhoCorasick(list(by_piece)) if by_piece else None

    def matching(self, text: str) -> list[str]:
        """Ids of the entries of which the text holds a message, the one that says most first."""
        text = _dense(text[:_MAX_PASTE])
        if self._automaton is None:
            return []
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        size = weight([text])
        said: dict[str, int] = {}
        for piece in {piece for piece, _, _ in found}:
            for shape in self._owners[piece]:
                if shape.weight < _ENOUGH and shape.weight < size * _SHARE:
                    continue
                if _follow(shape.parts, text):
                    said[shape.entry_id] = max(said.get(shape.entry_id, 0), shape.weight)
        return _best(said)


def _follow(parts: Iterable[str], text: str) -> bool:
    """Whether a text holds some parts in their order."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _best(said: dict[str, int]) -> list[str]:
    least = max(said.values(), default=0) * _MUCH
    kept = sorted((-much, entry_id) for entry_id, much in said.items() if much >= least)
    return [entry_id for _, entry_id in kept[:MOST]]


def _fixed_parts(template: str) -> list[str]:
    try:
        pieces = parse(template)
    except ValueError:  # written by hand, with a brace of its own
        return re.split(r"\{[^{}]*\}", template)
    parts = [""]
    for piece in pieces:
        if isinstance(piece, str):
            parts[-1] += piece
        else:
            parts.append("")
    return parts


def _dense(text: str) -> str:
    return "".join(text.split()).lower()
