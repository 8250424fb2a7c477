"""Search over the entries of a real release, side by side with SQLite's FTS5.

    python benchmarks/search.py [--entries 17000] [--queries 400] [PACKAGE==VERSION]

Both indexes hold the same documents and answer the same queries in turns; the ratio of the two is
what to look at. `found` is the share of queries whose own entry is among the first 20.
"""

import argparse
import random
import re
import sqlite3
import string
import time
from collections.abc import Callable, Sequence

from app.scanner.release import scan_wheel
from app.scanner.templates import parse, sample
from app.search.documents import Document
from app.search.filters import marks_of
from app.search.index import SearchIndex
from app.settings import load_settings
from app.wheels import fetch

Query = tuple[str, str]
"""What is asked, and the id of the entry it was made from."""
_FIRST = 20
_ROUNDS = 3


def documents_of(release: str, most: int) -> list[Document]:
    """The entries of a release, as the index sees them."""
    package, _, version = release.partition("==")
    found: dict[str, Document] = {}
    for site in scan_wheel(fetch(package, version, load_settings())).sites:
        document = found.get(site.entry_id)
        if document is None and site.recovered and len(found) < most:
            marks = marks_of(
                package=package,
                error_class=site.error_class,
                family=site.family,
                explained=False,
                statuses={release: "same"},
            )
            document = found[site.entry_id] = Document(
                id=site.entry_id,
                package=package,
                error_class=site.error_class,
                messages=[site.template],
                family=site.family or "",
                keys=[site.entry_id],
                marks=marks,
            )
        if document is not None:
            document.functions.append(site.function)
            document.files.append(site.file)
    return list(found.values())


class Fts5:
    """The named peer: SQLite's full-text index, tokenizer unicode61, ranked by bm25."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create virtual table e using fts5(id unindexed, message, name, place)")
        self.db.executemany(
            "insert into e values (?, ?, ?, ?)",
            (
                (
                    d.id,
                    "\n".join(d.messages),
                    f"{d.error_class} {d.package} {d.family}",
                    "\n".join(d.functions + d.files),
                )
                for d in documents
            ),
        )

    def search(self, text: str) -> list[str]:
        """Ids of the first hits; the last word may go on."""
        words = re.findall(r"[^\W_]+", text)
        asked = " ".join(f'"{word}"' for word in words) + "*"
        rows = self.db.execute(
            "select id from e where e match ? order by rank limit ?", (asked, _FIRST)
        )
        return [row[0] for row in rows]


def query_sets(documents: Sequence[Document], number: int) -> dict[str, list[Query]]:
    """Queries made from random entries with at least four words of their own."""
    chance = random.Random(1)
    worded = [d for d in documents if len(_words(d)) >= 4]
    chosen = [(d, _words(d)) for d in chance.sample(worded, min(number, len(worded)))]
    pasted = [(f"{d.error_class}: {sample(parse(d.messages[0]))}", d.id) for d, _ in chosen]
    return {
        "two words": [(" ".join(chance.sample(w, 2)), d.id) for d, w in chosen],
        "four words": [(" ".join(chance.sample(w, 4)), d.id) for d, w in chosen],
        "prefix": [(_prefix(chance, w), d.id) for d, w in chosen],
        "one typo, three words": [(_typo(chance, w, 3), d.id) for d, w in chosen],
        "pasted message": pasted,
    }


def _words(document: Document) -> list[str]:
    text = re.sub(r"\{[^{}]*\}", " ", document.messages[0])
    return [w for w in dict.fromkeys(re.findall(r"[^\W_]+", text)) if len(w) > 3 and w.isalpha()]


def _prefix(chance: random.Random, words: list[str]) -> str:
    first, last = chance.sample(words, 2)
    return f"{first} {last[:3]}"


def _typo(chance: random.Random, words: list[str], number: int) -> str:
    """Some words, the longest with one letter missing, added, wrong or swapped."""
    chosen = chance.sample(words, number)
    place = max(range(number), key=lambda i: len(chosen[i]))
    word = chosen[place]
    at = chance.randrange(1, len(word))
    letter = chance.choice(string.ascii_lowercase)
    chosen[place] = chance.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
        ]
    )
    return " ".join(chosen)


def measure(
    ask: Sequence[Callable[[str], list[str]]], queries: Sequence[Query]
) -> list[tuple[float, float, float, float]]:
    """(p50 ms, p95 ms, share found, share found first) of each engine, asked in turns.

    A query's time is the best of its rounds: what the machine does besides is left out.
    """
    times = [[float("inf")] * len(queries) for _ in ask]
    found = [0] * len(ask)
    first = [0] * len(ask)
    for _ in range(_ROUNDS):
        for number, (text, wanted) in enumerate(queries):
            for engine, search in enumerate(ask):
                start = time.perf_counter()
                ids = search(text)
                spent = time.perf_counter() - start
                times[engine][number] = min(times[engine][number], spent)
                found[engine] += wanted in ids
                first[engine] += ids[:1] == [wanted]
    asked = _ROUNDS * len(queries)
    out = []
    for engine, best in enumerate(map(sorted, times)):
        p50, p95 = best[len(best) // 2], best[int(len(best) * 0.95)]
        out.append((p50 * 1e3, p95 * 1e3, found[engine] / asked, first[engine] / asked))
    return out


def main() -> None:
    """Build both indexes, ask both, print one row a kind of query."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("release", nargs="?", default=load_settings().default_release)
    parser.add_argument("--entries", type=int, default=17_000)
    parser.add_argument("--queries", type=int, default=400)
    args = parser.parse_args()
    documents = documents_of(args.release, args.entries)
    start = time.perf_counter()
    index = SearchIndex.build(documents)
    built = time.perf_counter()
    peer = Fts5(documents)
    peer_built = time.perf_counter()
    print(f"{len(documents)} entries of {args.release}")
    print(f"build: ours {built - start:.2f} s, FTS5 {peer_built - built:.2f} s\n")

    def ours(text: str) -> list[str]:
        return [hit.id for hit in index.search(text, limit=_FIRST).hits]

    head = ("query", "ours p50", "p95 ms", "found", "first", "FTS5 p50", "p95 ms", "found", "first")
    print("{:<24}{:>9}{:>9}{:>7}{:>7}{:>10}{:>9}{:>7}{:>7}  p95 ratio".format(*head))
    for name, queries in query_sets(documents, args.queries).items():
        (a, b, c, d), (e, f, g, h) = measure([ours, peer.search], queries)
        print(
            f"{name:<24}{a:>9.3f}{b:>9.3f}{c:>7.0%}{d:>7.0%}"
            f"{e:>10.3f}{f:>9.3f}{g:>7.0%}{h:>7.0%}  {b / f:.2f} x"
        )


if __name__ == "__main__":
    main()
