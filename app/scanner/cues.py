"""Cues: regexes of which a fixed piece can be looked for first, all of them in one pass.

Trying hundreds of regexes on each of 20,000 texts takes seconds. Nearly every one of them contains
words that must be there for it to match; `fixed_pieces` finds them, an automaton looks for all of
them at once, and only the cues whose words are there need be tried.
"""

import re

from ahocorasick_rs import AhoCorasick

_ESCAPED_LITERALS = frozenset("\\.-+[](){}|*?^$/")
_MAX_TEXT = 600
_HOLE = re.compile(r"\{\{|\}\}|\{((?:[^{}]|\{[^{}]*\})*)\}")
_BRACKET = re.compile(r"[()\[\]]")
_NOISE = re.compile(r"(?:[\s'\"`*,;?]|!(?!=)|[:.](?=[\s'\"`,;]|$))+")
_TELLING = re.compile(
    r"(?P<error>^(?:e|ex|exc|err|error|exception|ret|res|rc|reason|cause|\w*_error|\w*_exc)$"
    r"|traceback|returncode|strerror|str\(e\)|type\(e\)|exc_info|errno)"
    r"|(?P<dtype>dtype\b)|(?P<shape>\.shape\b|\.size\(|\.sizes\(|\.n?dim\b|\.ndimension)"
    r"|(?P<type>\btype\(|__class__|__name__)|(?P<device>\.device\b|device\(\))"
    r"|(?P<count>\blen\(|\.numel\(|\.size\b)"
)


def normalise(template: str) -> str:
    """The text that cues are written for.

    Lower case, quotes and punctuation gone, brackets set off, a space at both ends. A hole is `{}`,
    or `{error}`, `{dtype}`, `{shape}`, `{type}`, `{device}`, `{count}` where its expression tells
    what it prints.
    """
    text = template[:_MAX_TEXT]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # lone surrogates are legal in a literal
    if "{" in text:
        text = _HOLE.sub(_hole_word, text)
    text = _BRACKET.sub(r" \g<0> ", text)
    return f" {_NOISE.sub(' ', text).strip()} ".lower()


def _hole_word(match: re.Match[str]) -> str:
    expr = match[1]
    if expr is None:
        return " "
    told = _TELLING.search(expr)
    return f"{{{told.lastgroup}}}" if told else "{}"


class CueIndex:
    """A set of cues, each of them one bit."""

    def __init__(self) -> None:
        self._patterns: list[re.Pattern[str]] = []
        self._bits: dict[str, int] = {}
        self._automaton: AhoCorasick | None = None
        self._masks: list[int] = []

    def add(self, cue: str) -> int:
        """Take up a cue; returns its bit.

        Raises:
            ValueError: it has no fixed piece, so that it could never be ruled out.
        """
        bit = 1 << len(self._patterns)
        self._patterns.append(re.compile(cue))
        for piece in fixed_pieces(cue):
            self._bits[piece] = self._bits.get(piece, 0) | bit
        self._automaton = None
        return bit

    def maybe(self, text: str) -> int:
        """Bits of the cues that may match a text; all others do not."""
        if self._automaton is None:
            self._automaton = AhoCorasick(list(self._bits))
            self._masks = list(self._bits.values())
        found = 0
        for piece, _, _ in self._automaton.find_matches_as_indexes(text, overlapping=True):
            found |= self._masks[piece]
        return found

    def found(self, bits: int, text: str) -> bool:
        """Whether one of these cues matches."""
        while bits:
            lowest = bits & -bits
            if self._patterns[lowest.bit_length() - 1].search(text):
                return True
            bits ^= lowest
        return False


def fixed_pieces(cue: str) -> tuple[str, ...]:
    """Pieces of text of which every match of a regex contains at least one.

    Raises:
        ValueError: there is nothing fixed about it.
    """
    pieces, end = _alternatives(cue, 0)
    if end != len(cue) or not all(piece.strip() for piece in pieces):
        raise ValueError(f"no fixed text in the cue {cue!r}")
    return tuple(sorted(set(pieces)))


def _alternatives(cue: str, i: int) -> tuple[list[str], int]:
    """Pieces of `a|b|c` from `i` to its closing bracket or the end; `[""]` if there are none."""
    pieces: list[str] = []
    while True:
        sequence, i = _sequence(cue, i)
        pieces += sequence
        if i == len(cue) or cue[i] == ")":
            return (pieces if all(pieces) else [""]), i
        i += 1  # the bar


def _sequence(cue: str, i: int) -> tuple[list[str], int]:
    """The best pieces of what stands between two bars: a run of letters, or a group's."""
    best: list[str] = [""]
    run = ""
    while i < len(cue) and cue[i] not in "|)":
        found, literal, i = _atom(cue, i)
        after = _quantifier_end(cue, i)
        if after > i:
            found, literal, i = [""], "", after
        run = run + literal if literal else ""
        best = max(best, [run], found, key=_weight)
    return best, i


def _atom(cue: str, i: int) -> tuple[list[str], str, int]:
    """(pieces of a group, letter, index after) of the atom at `i`."""
    char = cue[i]
    if char == "\\":
        return [""], cue[i + 1] if cue[i + 1] in _ESCAPED_LITERALS else "", i + 2
    if char == "[":
        return [""], "", cue.index("]", i + 2) + 1
    if char == "(":
        around = cue.startswith(("(?!", "(?=", "(?<"), i)
        start = i + 3 if cue.startswith("(?", i) else i + 1
        pieces, end = _alternatives(cue, start)
        return ([""] if around else pieces), "", end + 1
    return [""], "" if char in ".^$" else char, i + 1


def _quantifier_end(cue: str, i: int) -> int:
    """Index after the quantifier at `i`; `i` if there is none."""
    end = i
    if cue[i : i + 1] in ("?", "*", "+"):
        end = i + 1
    elif cue[i : i + 1] == "{" and cue[i + 1 : i + 2].isdigit():
        end = cue.index("}", i) + 1
    return end + 1 if end > i and cue[end : end + 1] == "?" else end


def _weight(pieces: list[str]) -> tuple[int, int]:
    """How much a choice of pieces rules out: the letters of its shortest one."""
    return min((len(piece.strip()), len(piece)) for piece in pieces)
