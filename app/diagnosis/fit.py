"""How a message fits a template: ordered search for the fixed parts, the slices between are values.

No regular expression is involved, so no message can make it slow: each part is looked for once, to
the right of the one before. A message may stand inside a longer line, may be cut at its end, or may
have been wrapped by a terminal; each of these is told apart, because it makes a match weaker.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

from app.diagnosis.patterns import lazy

_WORDY: Final = lazy(r"[^\W_]")
_INTEGER: Final = lazy(r"[+-]?\d{1,40}$")
_FLOAT: Final = lazy(r"[+-]?(?:\d{1,40}\.\d{0,40}(?:[eE][+-]?\d{1,4})?|\d{1,40}[eE][+-]?\d{1,4})$")
_CONSTANTS: Final = {"True": True, "False": False, "None": None}
_BEFORE: Final = (
    ": ",
    ":",
    '"',
    "'",
    "`",
    "(",
    "[",
    "> ",
    "- ",
    "| ",
    "] ",
    "\n",
    "=",
    "»",
    "! ",
    ". ",
)
_BEFORE_WORDS: Final = ("exception ", "error ", "Error ", "Exception ", "reason ", "message ")
_LONG_VALUE: Final = 2_000
_ENOUGH_WHEN_CUT: Final = 12
"""Letters and digits of fixed text that a message must show before its missing end is forgiven."""
_SHARE_WHEN_CUT: Final = 0.3
_TRIES: Final = 8
_LONGEST_CLOSED: Final = 400
"""How far the end of a bracket is looked for."""


class Fit(NamedTuple):
    """One way in which a text is a message of a template."""

    start: int
    end: int
    values: tuple[tuple[int, int], ...]
    """Slices of the text, one a hole; (-1, -1) for a hole behind the cut."""
    weight: int
    """Letters and digits of fixed text that were found."""
    whole: bool
    """Every fixed part was found."""
    opens: bool
    """It begins where the message begins."""
    closes: bool
    """It ends where the message ends."""


def weight(parts: tuple[str, ...] | list[str]) -> int:
    """Letters and digits in the fixed parts."""
    return sum(map(_letters, parts))


@lru_cache(maxsize=16_384)
def _letters(part: str) -> int:
    return len(_WORDY().findall(part))


def fit(parts: list[str], text: str, *, begin: int = 0, end: int | None = None) -> Fit | None:
    """Fit a message to a template.

    Args:
        parts: the template's fixed text around its holes, one more than holes.
        text: what was said.
        begin: where the message starts in it.
        end: where the message ends; the text's end by default.

    Returns:
        The leftmost fit, or None.
    """
    stop = len(text) if end is None else end
    start = _first(parts, text, begin, stop)
    if start < 0:
        return _cut_opening(parts, text, begin, stop)
    shown = _walk(parts, text, start, stop, whole_values=True)
    if len(shown.found) < len(parts):
        shown = _walk(parts, text, start, stop, whole_values=False)
    if len(shown.found) < len(parts):
        return _cut(parts, shown, text, begin, stop)
    return Fit(
        start=start,
        end=shown.at,
        values=tuple(shown.values),
        weight=weight(shown.found),
        whole=True,
        opens=start == begin,
        closes=not text[shown.at : stop].strip(" .\n\t"),
    )


class _Shown(NamedTuple):
    """What of a template a text holds."""

    start: int
    at: int
    """Where the search stands."""
    found: list[str]
    values: list[tuple[int, int]]


def _walk(parts: list[str], text: str, start: int, stop: int, *, whole_values: bool) -> _Shown:
    """Find one fixed part behind the other, as far as it goes.

    With `whole_values` the comma in `[1, 2]` is no comma between two values.
    """
    at = start + len(parts[0])
    values: list[tuple[int, int]] = []
    found = [parts[0]]
    last = len(parts) - 1
    for i in range(1, len(parts)):
        part = parts[i]
        if i == last:
            where = _last(part, text, at, stop)
        else:
            where = text.find(part, at, stop) if part else at
            if whole_values and part and where > at:
                where = _closed(part, text, at, where, stop)
        if where < 0:
            break
        values.append((at, where))
        at = where + len(part)
        found.append(part)
    return _Shown(start, at, found, values)


def _closed(part: str, text: str, at: int, where: int, stop: int) -> int:
    """Where the part stands first behind a value whose brackets are closed; else as it was."""
    later = where
    for _ in range(_TRIES):
        value = text[at:later]
        if len(value) > _LONGEST_CLOSED:
            break
        if all(value.count(a) <= value.count(b) for a, b in ("()", "[]", "{}")):
            return later
        later = text.find(part, later + 1, stop)
        if later < 0:
            break
    return where


def _first(parts: list[str], text: str, begin: int, stop: int) -> int:
    """Where the message begins: at the beginning if it can, else behind a word that quotes it."""
    opening = parts[0]
    if not opening:
        return begin
    if text.startswith(opening, begin, stop):
        return begin
    at = text.find(opening, begin, stop)
    while at > begin:
        if opening[:1].isspace() or _quoted(text, begin, at):
            return at
        at = text.find(opening, at + 1, stop)
    if (
        at < 0
        and len(text) - begin < len(opening)
        and opening.startswith(text[begin:stop].rstrip(". …"))
    ):
        return -1
    return at


def _quoted(text: str, begin: int, at: int) -> bool:
    before = text[max(begin, at - 12) : at]
    return before.endswith((*_BEFORE, *_BEFORE_WORDS))


def _last(part: str, text: str, at: int, stop: int) -> int:
    if not part:
        return stop
    tail = stop - len(part)
    if tail >= at and text.startswith(part, tail):
        return tail
    return text.find(part, at, stop)


def _cut_opening(parts: list[str], text: str, begin: int, stop: int) -> Fit | None:
    """The message stops within the template's first words."""
    said = text[begin:stop].rstrip(" ….\n")
    if not said or not parts[0].startswith(said):
        return None
    shown = weight([said])
    if shown < _ENOUGH_WHEN_CUT or shown < weight(parts) * _SHARE_WHEN_CUT:
        return None
    return Fit(
        start=begin,
        end=begin + len(said),
        values=((-1, -1),) * (len(parts) - 1),
        weight=shown,
        whole=False,
        opens=True,
        closes=True,
    )


def _cut(parts: list[str], so_far: _Shown, text: str, begin: int, stop: int) -> Fit | None:
    """The message stops before the template does: cut off, or an older or shorter wording."""
    found, values = so_far.found, so_far.values
    missing = parts[len(found)]
    rest = text[so_far.at : stop]
    overlap = _overlap(rest.rstrip(" ….\n"), missing)
    shown = weight(found) + weight([missing[:overlap]])
    if shown < _ENOUGH_WHEN_CUT or shown < weight(parts) * _SHARE_WHEN_CUT:
        return None
    hole_end = stop - (len(rest) - len(rest.rstrip(" ….\n"))) - overlap
    values.append((so_far.at, max(so_far.at, hole_end)))
    values.extend([(-1, -1)] * (len(parts) - 1 - len(values)))
    return Fit(
        start=so_far.start,
        end=stop,
        values=tuple(values),
        weight=shown,
        whole=False,
        opens=so_far.start == begin,
        closes=True,
    )


def _overlap(text: str, part: str) -> int:
    """Characters of `part` that the end of `text` already shows."""
    for n in range(min(len(part), len(text)), 0, -1):
        if text.endswith(part[:n]):
            return n
    return 0


def dense(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def squeeze(text: str) -> tuple[str, list[int]]:
    """The text without white space, and where each character stood."""
    where = [i for i, c in enumerate(text) if not c.isspace()]
    return "".join([text[i] for i in where]), where


def fit_squeezed(parts: list[str], text: str, *, begin: int = 0) -> Fit | None:
    """Fit a message whose white space a terminal or a log viewer has changed."""
    dense, where = squeeze(text)
    first = sum(1 for i in where if i < begin)
    got = fit(["".join(p.split()) for p in parts], dense, begin=first)
    if got is None or not where:
        return None
    where.append(len(text))

    def back(a: int, b: int) -> tuple[int, int]:
        if a < 0:
            return -1, -1
        return (where[a], where[b - 1] + 1) if b > a else (where[a], where[a])

    start, end = back(got.start, got.end)
    return Fit(
        start=start,
        end=end,
        values=tuple(back(a, b) for a, b in got.values),
        weight=got.weight,
        whole=got.whole,
        opens=got.opens,
        closes=got.closes,
    )


def value(text: str) -> Any:
    """A slice of a message as the value it was printed from.

    Numbers, booleans, None and quoted strings become what they were; all else stays text.
    """
    text = text.strip()
    if _INTEGER().match(text):
        return int(text)
    if _FLOAT().match(text):
        return float(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]:
        return text[1:-1]
    return text if len(text) <= _LONG_VALUE else text[:_LONG_VALUE] + " …"
