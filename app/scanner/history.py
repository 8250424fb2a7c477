"""What happened to the entries between two neighbouring releases.

Sites are paired over the whole wheel (code moves between folders): first those of the same entry,
nearest place first; then those with the same words and another class; then those whose words are
alike in the same function, file or, for code that moved, a function of the same name; last those in
the same function under the same condition. What stays unpaired is new, or gone.

The result depends on the two releases alone, so releases can be scanned in any order.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from rapidfuzz import fuzz

ALIKE: Final = 80.0
"""Words of this likeness (0 to 100) are the same message reworded."""
ALIKE_SAME_GUARD: Final = 35.0
"""Enough where function, class and condition are the same."""
ALIKE_ANYWHERE: Final = 90.0
"""Asked for where neither file nor function is the same, only the first or last words."""
_EDGE: Final = 16
_TELLING: Final = 12
"""Letters and digits from which on words alone say that it is the same message."""
_LETTERS: Final = re.compile(r"[^\W_]+")


class Place(NamedTuple):
    """A site, as far as its history goes."""

    entry_id: str
    file: str
    function: str
    line: int
    ref: int
    """What its side's `Telling` knows it by."""


class Words(NamedTuple):
    """What a site says; asked for only where the entry did not stay."""

    error_class: str
    words: str
    """The template with empty holes, or the condition that stands in for it."""
    worded: bool
    guard: str
    """The nearest condition, empty if there is none."""


Telling = Callable[[Sequence[int]], Mapping[int, Words]]
"""Gives the words of some places by their `ref`."""


T = TypeVar("T")


class EntryChange(NamedTuple):
    """What happened to one entry."""

    entry_id: str
    status: str
    """new | moved | reworded | classChanged | gone."""
    previous: str | None = None
    """The entry that it was, for `reworded` and `classChanged`."""
    replaced: bool = False
    """The previous entry is nowhere left: its id leads here now."""


def compare(
    old: Sequence[Place], new: Sequence[Place], old_words: Telling, new_words: Telling
) -> list[EntryChange]:
    """The changes from one release to the next, by entry id; entries that stayed are left out.

    Args:
        old: the sites of the earlier release.
        new: the sites of the later one.
        old_words: gives the words of the earlier ones.
        new_words: gives the words of the later ones.
    """
    stay = _Stay(old, new)
    left = _Left(
        _told(stay.old, old_words(sorted(p.ref for p in stay.old))),
        _told(stay.new, new_words(sorted(p.ref for p in stay.new))),
    )
    left.other_class()
    left.reworded()
    before, after = {p.entry_id for p in old}, {p.entry_id for p in new}
    return sorted(_changes(before, after, stay.moved, left.changed))


def _changes(
    before: set[str], after: set[str], moved: set[str], changed: Sequence[tuple[str, str, str]]
) -> Iterable[EntryChange]:
    origins: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    followed = set()
    for was, now, status in changed:
        if now not in before:
            origins[now][status, was] += 1
            followed.add(was)
    for entry in after:
        if entry in moved:
            yield EntryChange(entry, "moved")
        elif entry in origins:
            (status, previous), _ = min(origins[entry].items(), key=lambda i: (-i[1], i[0]))
            yield EntryChange(entry, status, previous, previous not in after)
        elif entry not in before:
            yield EntryChange(entry, "new")
    for entry in before - after - followed:
        yield EntryChange(entry, "gone")


class _Stay:
    """Pairs the sites of one entry, nearest places first; what is left has no such partner."""

    def __init__(self, old: Sequence[Place], new: Sequence[Place]) -> None:
        self.moved: set[str] = set()
        """Entries with a site that is in another file or function now."""
        self.old, self.new = _pair(
            sorted(old, key=_reading_order),
            sorted(new, key=_reading_order),
            lambda p: (p.entry_id, p.file, p.function),
            lambda _was, _now: None,
        )
        for key in (
            lambda p: (p.entry_id, p.file),
            lambda p: (p.entry_id, p.function),
            lambda p: p.entry_id,
        ):
            self.old, self.new = _pair(
                self.old, self.new, key, lambda was, _now: self.moved.add(was.entry_id)
            )


def _reading_order(place: Place) -> tuple[str, int, str, int]:
    return place.file, place.line, place.entry_id, place.ref


class _Told(NamedTuple):
    """A place that is left, with its words."""

    place: Place
    says: Words


def _told(places: Sequence[Place], words: Mapping[int, Words]) -> list[_Told]:
    return [_Told(p, words[p.ref]) for p in places]


class _Left:
    """Pairs what is left of two releases by what it says."""

    def __init__(self, old: list[_Told], new: list[_Told]) -> None:
        self.old = old
        self.new = new
        self.changed: list[tuple[str, str, str]] = []
        """(entry before, entry after, status)."""

    def other_class(self) -> None:
        by_place: tuple[Callable[[_Told], Hashable], ...] = (
            lambda t: (t.place.file, t.place.function),
            lambda t: t.place.file,
            lambda t: t.place.function,
            lambda _: None,
        )
        for key in by_place:
            self.old, self.new = _pair(
                self.old,
                self.new,
                partial(_same_words, key),
                lambda was, now: self._note(was, now, "classChanged"),
            )

    def reworded(self) -> None:
        self._alike(lambda t: (t.place.file, t.place.function), ALIKE)
        self._alike(lambda t: t.place.file, ALIKE)
        self._alike(lambda t: (_leaf(t.place.function), t.says.error_class), ALIKE)
        self._alike(
            lambda t: (
                (t.place.function, t.says.error_class, t.says.guard) if t.says.guard else None
            ),
            ALIKE_SAME_GUARD,
        )
        self._alike(lambda t: _edge(t.says, t.says.words[:_EDGE]), ALIKE_ANYWHERE)
        self._alike(lambda t: _edge(t.says, t.says.words[-_EDGE:]), ALIKE_ANYWHERE)

    def _note(self, was: _Told, now: _Told, status: str) -> None:
        self.changed.append((was.place.entry_id, now.place.entry_id, status))

    def _alike(self, key: Callable[[_Told], Hashable], least: float) -> None:
        """Pair the most alike sites with the same key first, down to a least likeness."""
        groups: defaultdict[Hashable, list[int]] = defaultdict(list)
        for j, site in enumerate(self.new):
            groups[key(site)].append(j)
        found = []
        for i, was in enumerate(self.old):
            k = key(was)
            for j in groups.get(k, ()) if k is not None else ():
                now = self.new[j]
                if was.says.worded != now.says.worded:
                    continue
                score = fuzz.ratio(was.says.words, now.says.words, score_cutoff=least)
                if score >= least:
                    found.append((-score, abs(was.place.line - now.place.line), i, j))
        taken_old: set[int] = set()
        taken_new: set[int] = set()
        for _, _, i, j in sorted(found):
            if i not in taken_old and j not in taken_new:
                taken_old.add(i)
                taken_new.add(j)
                self._note(self.old[i], self.new[j], "reworded")
        self.old = [s for i, s in enumerate(self.old) if i not in taken_old]
        self.new = [s for j, s in enumerate(self.new) if j not in taken_new]


def _pair(
    old: Sequence[T],
    new: Sequence[T],
    key: Callable[[T], Hashable],
    paired: Callable[[T, T], object],
) -> tuple[list[T], list[T]]:
    """Pair what has the same key, in order; `None` as a key pairs with nothing.

    Returns:
        What is left of both.
    """
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for j in range(len(new) - 1, -1, -1):
        waiting[key(new[j])].append(j)
    taken: set[int] = set()
    left = []
    for was in old:
        k = key(was)
        queue = waiting.get(k) if k is not None else None
        if queue:
            j = queue.pop()
            taken.add(j)
            paired(was, new[j])
        else:
            left.append(was)
    return left, [site for j, site in enumerate(new) if j not in taken]


def _same_words(key: Callable[[_Told], Hashable], told: _Told) -> Hashable:
    words = told.says.words
    return (key(told), words) if _telling(words) else None


def _telling(words: str) -> bool:
    return sum(map(len, _LETTERS.findall(words))) >= _TELLING


def _edge(says: Words, edge: str) -> tuple[str, str] | None:
    return (says.error_class, edge) if len(says.words) > 2 * _EDGE else None


def _leaf(function: str) -> str:
    return function.rpartition(".")[2]


def newest_ids(steps: Iterable[Sequence[EntryChange]]) -> dict[str, str]:
    """Where ids of the past lead today.

    Args:
        steps: the changes of each release, oldest release first.

    Returns:
        Old id → the id of the entry it became in the end. An entry that came back under its old
        words is no alias.
    """
    became: dict[str, str] = {}
    for step in steps:
        for change in step:
            if change.status in ("new", "reworded", "classChanged"):
                became.pop(change.entry_id, None)
        for change in step:
            if change.replaced and change.previous is not None:
                became[change.previous] = change.entry_id
    return {old: _end(became, old) for old in became}


def _end(became: Mapping[str, str], start: str) -> str:
    seen = {start}
    at = start
    while at in became and became[at] not in seen:
        at = became[at]
        seen.add(at)
    return at
