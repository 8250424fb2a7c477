"""Do errors keep their ids from release to release, and is what changed found again?

What survives is decided here by a plain matcher that knows no ids: sites with the same class and
words, wherever they are; the same words of another class in the same function; then words that are
alike (four fifths or more) in the same function, the same file, or a function of that name. For
each step between neighbouring releases the table shows, over the whole wheel:

* how many of the surviving sites keep their id, beside two plainer ways of naming an error: file
  and line, and file, function, class and words;
* of those that do not, how many the catalog finds again as reworded or of another class.

Log lines are counted in a table of their own.

    python benchmarks/identity.py [VERSION ...]
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from rapidfuzz import fuzz

from app.loading.neighbours import compare_sides, scanned_side
from app.scanner.records import ScannedSite
from app.scanner.release import scan_wheel
from app.settings import load_settings
from app.wheels import fetch

RELEASES = [f"0.5.{n}" for n in range(16, 24)]
ALIKE = 80
TELLING = 12

Pair = tuple[ScannedSite, ScannedSite]


class Plain:
    """Pairs the sites of two releases by nothing but their words and places."""

    def __init__(self, old: Iterable[ScannedSite], new: Iterable[ScannedSite]) -> None:
        """Sites of both, to be paired by `pairs`."""
        self.old, self.new = list(old), list(new)
        self.found: list[Pair] = []

    def pairs(self) -> list[Pair]:
        """All pairs; what is in none is gone, or new."""
        for key in (
            lambda s: (s.file, s.function, s.error_class, s.words),
            lambda s: (s.file, s.error_class, s.words),
            lambda s: (s.function, s.error_class, s.words),
            lambda s: (s.error_class, s.words),
            lambda s: (s.file, s.function, s.words) if len(s.words) > TELLING else None,
        ):
            self.equal(key)
        self.alike(lambda s: (s.file, s.function))
        self.alike(lambda s: s.file)
        self.alike(lambda s: (s.function.rpartition(".")[2], s.error_class))
        return self.found

    def equal(self, key: Callable[[ScannedSite], Hashable]) -> None:
        """Pair what has the same key, in order."""
        waiting: defaultdict[Hashable, list[ScannedSite]] = defaultdict(list)
        for site in reversed(self.new):
            waiting[key(site)].append(site)
        pairs = [(s, waiting[k].pop()) for s in self.old if (k := key(s)) and waiting.get(k)]
        self.take(pairs)

    def alike(self, key: Callable[[ScannedSite], Hashable]) -> None:
        """Pair what has the same key and words that are alike, the most alike first."""
        there: defaultdict[Hashable, list[ScannedSite]] = defaultdict(list)
        for site in self.new:
            there[key(site)].append(site)
        scored = [
            (fuzz.ratio(was.words, now.words), abs(was.line - now.line), was, now)
            for was in self.old
            for now in there.get(key(was), ())
        ]
        scored = [s for s in scored if s[0] >= ALIKE]
        scored.sort(key=lambda s: (-s[0], s[1]))
        taken: set[int] = set()
        pairs = []
        for _, _, was, now in scored:
            if not {id(was), id(now)} & taken:
                taken |= {id(was), id(now)}
                pairs.append((was, now))
        self.take(pairs)

    def take(self, pairs: list[Pair]) -> None:
        """Keep pairs and set their sites aside."""
        taken = {id(site) for pair in pairs for site in pair}
        self.found += pairs
        self.old = [s for s in self.old if id(s) not in taken]
        self.new = [s for s in self.new if id(s) not in taken]


@dataclass(slots=True)
class Table:
    """Steps of one kind of sites, printed as they come."""

    title: str
    keeps: list[float] = field(default_factory=list)
    rest: int = 0
    found: int = 0

    def add(self, name: str, pairs: list[Pair], led: dict[str, set[str]]) -> str:
        """One line for a step; `led` is what the catalog says an old id became."""
        rest = [(was, now) for was, now in pairs if was.entry_id != now.entry_id]
        found = sum(now.entry_id in led.get(was.entry_id, ()) for was, now in rest)
        same_line = sum((w.file, w.line) == (n.file, n.line) for w, n in pairs)
        same_place = sum(
            (w.file, w.function, w.entry_id) == (n.file, n.function, n.entry_id) for w, n in pairs
        )
        self.keeps.append(1 - len(rest) / len(pairs))
        self.rest += len(rest)
        self.found += found
        share = 100 * found / len(rest) if rest else 100
        return (
            f"{name:<16}{len(pairs):>8}{100 * self.keeps[-1]:>10.2f}"
            f"{100 * same_line / len(pairs):>12.1f}{100 * same_place / len(pairs):>16.1f}"
            f"{len(rest):>9}{share:>12.1f}"
        )

    def summary(self) -> str:
        """Mean and worst of all steps."""
        mean = 100 * sum(self.keeps) / len(self.keeps)
        return (
            f"{self.title}: {mean:.2f} % keep their id on average, {100 * min(self.keeps):.2f} % "
            f"at least; of the rest {100 * self.found / max(self.rest, 1):.1f} % are found again"
        )


HEAD = (
    f"{'step':<16}{'survive':>8}{'same id %':>10}{'file:line %':>12}{'file+function %':>16}"
    f"{'changed':>9}{'found %':>12}"
)


def sites_of(version: str) -> list[ScannedSite]:
    """All sites of a release."""
    print(f"scanning {version} ...", file=sys.stderr, flush=True)
    return scan_wheel(fetch("sglang", version, load_settings())).sites


def worded(sites: list[ScannedSite], *, logs: bool) -> list[ScannedSite]:
    """Python sites with words: log lines, or all others."""
    return [s for s in sites if s.recovered and s.kind != "native" and (s.kind == "log") is logs]


def shared_ids(sites: list[ScannedSite]) -> int:
    """Ids that stand for different classes or words."""
    meant: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for s in sites:
        meant[s.entry_id].add((s.error_class, s.condition or s.words))
    return sum(len(m) > 1 for m in meant.values())


def main() -> None:
    """Scan, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", default=RELEASES)
    versions = parser.parse_args().versions
    before = sites_of(versions[0])
    first, shared = {s.entry_id for s in worded(before, logs=False)}, shared_ids(before)
    tables = {False: Table("errors"), True: Table("log lines")}
    lines: defaultdict[bool, list[str]] = defaultdict(list)
    statuses: Counter[str] = Counter()
    for older, newer in pairwise(versions):
        after = sites_of(newer)
        shared += shared_ids(after)
        led: defaultdict[str, set[str]] = defaultdict(set)
        for change in compare_sides(scanned_side(before), scanned_side(after)):
            statuses[change.status] += 1
            if change.previous:
                led[change.previous].add(change.entry_id)
        for logs, table in tables.items():
            pairs = Plain(worded(before, logs=logs), worded(after, logs=logs)).pairs()
            lines[logs].append(table.add(f"{older} {newer[2:]}", pairs, led))
        before = after
    for logs, table in tables.items():
        print(f"\n{HEAD}\n" + "\n".join(lines[logs]) + f"\n{table.summary()}")
    last = {s.entry_id for s in worded(before, logs=False)}
    print(
        f"\n{versions[0]} to {versions[-1]}: {100 * len(first & last) / len(first):.1f} % of the "
        f"entries have the same id\nids shared by different words: {shared}"
        f"\nwhat the catalog says of all steps together: {dict(statuses.most_common())}"
    )


if __name__ == "__main__":
    main()
