"""Typographic characters of chat programs, wikis and word processors → what a program had printed.

A message that went through a chat window comes back with spaces that do not break, curly quotes,
dashes for hyphens and characters without width. They are folded before anything is matched, in the
log and in the fixed text of the templates alike, so that a template that has a dash keeps it.
"""

from typing import Final

from app.diagnosis.patterns import lazy

_SPACES: Final = "\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NOTHING: Final = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069"
_DOUBLE: Final = "\u201c-\u201f\u2033\u301d\u301e\uff02"
_SINGLE: Final = "\u2018-\u201b\u2032\uff07"
_HYPHENS: Final = "\u2010-\u2013\u2212\ufe58\ufe63\uff0d"
_LONG: Final = "\u2014\u2015"
ODD: Final = lazy(
    f"(?P<space>[{_SPACES}])|(?P<nothing>[{_NOTHING}])|(?P<double>[{_DOUBLE}])"
    f"|(?P<single>[{_SINGLE}])"
    # two hyphens before an option become one dash, short or long
    f"|(?P<option>(?<![^\\s'\"`(\\[=,;\u2018\u201c])[{_HYPHENS}{_LONG}](?=[a-z]))"
    f"|(?P<hyphen>[{_HYPHENS}])|(?P<long>[{_LONG}])|(?P<dots>\u2026(?=.))"
)
_FOLDED: Final = {
    "space": " ", "nothing": "", "double": '"', "single": "'", "option": "--", "hyphen": "-",
    "long": "--", "dots": "...",
}  # fmt: skip
Cuts = tuple[tuple[int, int], ...]


def folded(text: str) -> str:
    """The text in the characters that programs print; plain text costs nothing."""
    if text.isascii():
        return text
    return ODD().sub(lambda m: _FOLDED[str(m.lastgroup)], text)


def folded_with_cuts(text: str) -> tuple[str, Cuts]:
    """The same, and (position in what is left, characters that were taken out there).

    What became longer counts as a negative number of characters.
    """
    parts: list[str] = []
    cuts: list[tuple[int, int]] = []
    last = kept = 0
    for m in ODD().finditer(text):
        new = _FOLDED[str(m.lastgroup)]
        parts += [text[last : m.start()], new]
        kept += m.start() - last + len(new)
        last = m.end()
        if len(new) != 1:
            cuts.append((kept, 1 - len(new)))
    if not parts:
        return text, ()
    parts.append(text[last:])
    return "".join(parts), tuple(cuts)


def combined(first: Cuts, later: Cuts) -> Cuts:
    """Two rounds of cuts as one, in the positions of what is left after both.

    Args:
        first: of the first round, in the positions that the second one found.
        later: of the second round.
    """
    if not first or not later:
        return first or later
    moved = []
    for at, length in first:
        gone = 0
        for where, taken in later:
            if at < where + gone + taken:
                break
            gone += taken
        moved.append((at - gone, length))
    return tuple(sorted((*moved, *later)))
