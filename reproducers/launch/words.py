"""A launch's arguments as flags with their values, and small edits of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reproducers.launch.options import Option, Options

_FLAG: Final = re.compile(r"--?[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Piece:
    """One flag as it stands on the line, with its values; or a word that belongs to no flag."""

    start: int
    end: int
    name: str
    """As written; empty for a stray word."""
    values: tuple[str, ...]
    option: Option | None
    joined: bool = False
    """Written as `--flag=value`."""


@dataclass(frozen=True, slots=True)
class Change:
    """A line with one thing changed."""

    argv: tuple[str, ...]
    text: str
    """What was changed, in words."""
    flags: tuple[str, ...] = ()
    """Spellings of the flags it touches."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables it sets."""


def is_flag(word: str) -> bool:
    """Whether argparse would take the word for a flag."""
    return _FLAG.match(word) is not None and " " not in word


def pieces(argv: tuple[str, ...], options: Options) -> list[Piece]:
    """The line as flags with their values."""
    found: list[Piece] = []
    i = 0
    while i < len(argv):
        word = argv[i]
        if not is_flag(word):
            found.append(Piece(i, i + 1, "", (word,), None))
            i += 1
            continue
        name, joined, value = word.partition("=")
        option = options.named(word)
        if joined:
            found.append(Piece(i, i + 1, name, (value,), option, joined=True))
            i += 1
            continue
        end = _end_of_values(argv, i + 1, option)
        found.append(Piece(i, end, name, argv[i + 1 : end], option))
        i = end
    return found


def _end_of_values(argv: tuple[str, ...], start: int, option: Option | None) -> int:
    most = len(argv) - start
    if option is not None:
        if option.is_flag:
            return start
        if option.nargs is None or option.nargs == "?":
            most = 1
        elif isinstance(option.nargs, int):
            most = option.nargs
    end = start
    while end < len(argv) and end - start < most and not is_flag(argv[end]):
        end += 1
    return end


def without(argv: tuple[str, ...], piece: Piece) -> Change:
    """The line without a flag."""
    shown = " ".join(argv[piece.start : piece.end])
    return Change(argv[: piece.start] + argv[piece.end :], f"remove `{shown}`", (piece.name,))


def replaced(argv: tuple[str, ...], piece: Piece, new: tuple[str, ...], text: str) -> Change:
    """The line with a flag and its values written otherwise."""
    touched = tuple(w.partition("=")[0] for w in new if is_flag(w))
    return Change(argv[: piece.start] + new + argv[piece.end :], text, (piece.name, *touched))


def renamed(argv: tuple[str, ...], piece: Piece, option: Option, name: str) -> Change:
    """The line with a flag under another name, its values kept if the other takes any."""
    if option.is_flag:
        new: tuple[str, ...] = (name,)
    elif piece.joined:
        new = (f"{name}={piece.values[0]}",)
    else:
        new = (name, *piece.values)
    return replaced(argv, piece, new, f"write `{name}` instead of `{piece.name}`")


def with_value(
    argv: tuple[str, ...], options: Options, option: Option, value: str | None
) -> Change | None:
    """The line with a flag given this value; None if it has it already.

    Args:
        argv: the line.
        options: the parser's flags.
        option: which one.
        value: None for a flag without a value.
    """
    piece = next((p for p in pieces(argv, options) if p.option == option), None)
    if piece is None:
        new = (option.longest,) if value is None else (option.longest, value)
        return Change((*argv, *new), f"add `{' '.join(new)}`", (option.longest,))
    if value is None or piece.values == (value,):
        return None
    new = (f"{piece.name}={value}",) if piece.joined else (piece.name, value)
    return replaced(argv, piece, new, f"set `{piece.name}` to `{value}`")
