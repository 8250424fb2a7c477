"""A query's words, and the questions to the index that they make.

Terms are letters and digits only, so nothing in a query can be taken for syntax.
"""

import re
from collections.abc import Iterable, Sequence

from tantivy import Occur, Query, Schema

from app.search.filters import Filters

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MOST_WORDS = 24
LONGEST_WORD = 40
_SHORTEST_TYPO = 3
_PHRASE_SLOP = 2
_ENOUGH = 0.6
"""Share of the words that must be there when not all of them are anywhere together."""
_BOOSTS = {"message": 2.0, "name": 2.0, "place": 1.0}
_EXPLAINED = 5.0
RIGHT = 1_000.0
"""Added to the score of entries that have every word as it was typed."""
_PASTED = 100_000.0
KEY = 1_000_000.0
"""The score of an entry whose id or slug was asked for."""


def words_of(text: str) -> list[str]:
    """The words of a query, lower case, each once."""
    found = (word.lower() for word in _WORD.findall(text[: 50 * LONGEST_WORD]))
    return list(dict.fromkeys(word for word in found if len(word) <= LONGEST_WORD))[:MOST_WORDS]


def spread(identifier: str) -> str:
    """An identifier and its parts: `FlashInferKDAKernel` is found by `flash`, `kda` and whole."""
    parts = _CAMEL.sub(" ", identifier)
    return identifier if parts == identifier else f"{identifier} {parts}"


class Asker:
    """Makes questions for one index's schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def all_words(self, words: list[str], *, typing: bool) -> Query:
        """Entries with all of the words; the last one may go on, if it is still being typed."""
        return self._every(self._written(words, typing=typing), words)

    def nearly_all_words(self, words: list[str], *, typing: bool) -> Query:
        """The same with one wrong, missing or swapped letter a word; those without come first."""
        last = len(words) - 1
        near = [self._near(word, last=typing and i == last) for i, word in enumerate(words)]
        exact = self._written(words, typing=typing)
        right = Query.boolean_query([(Occur.Must, query) for query in exact])
        return Query.boolean_query(
            [
                (Occur.Must, self._every(near, words)),
                (Occur.Should, Query.const_score_query(right, RIGHT)),
            ]
        )

    def most_words(self, words: list[str]) -> Query:
        """Entries with more than half of the words, each as it is or with a typo."""
        parts = [(Occur.Should, self._near(word, last=False)) for word in words]
        needed = max(1, round(len(words) * _ENOUGH))
        return Query.boolean_query(parts, minimum_number_should_match=needed)

    def complete(
        self, words: Query | None, text: str, pasted: Sequence[str], chosen: Filters
    ) -> Query:
        """A whole question: key, pasted message or words, explained entries raised, filters."""
        ways: list[Query] = []
        key = text.strip().lower()
        if key and len(key) <= 200:  # noqa: PLR2004  # no id or slug is longer
            ways.append(Query.const_score_query(self._term("keys", key), KEY))
        for place, entry_id in enumerate(pasted):
            ways.append(Query.const_score_query(self._term("id", entry_id), _PASTED - 100 * place))
        if words is not None:
            ways.append(words)
        parts = [
            (Occur.Must, Query.const_score_query(self._term("marks", mark), 0.0))
            for mark in chosen.marks()
        ]
        if chosen.ids is not None:
            only = Query.term_set_query(self._schema, "id", sorted(chosen.ids))
            parts.append((Occur.Must, Query.const_score_query(only, 0.0)))
        if text.strip():
            parts.append((Occur.Must, Query.disjunction_max_query(ways)))
            raised = self._term("marks", "status:explained")
            parts.append((Occur.Should, Query.const_score_query(raised, _EXPLAINED)))
        elif not parts:
            return Query.all_query()
        return Query.boolean_query(parts)

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._schema, field, value)

    def _every(self, needed: Iterable[Query], words: list[str]) -> Query:
        """All needed; words in the message, the class or the place count for more."""
        parts = [(Occur.Must, query) for query in needed]
        for word in words:
            for field, boost in _BOOSTS.items():
                parts.append((Occur.Should, Query.boost_query(self._term(field, word), boost)))
        if len(words) > 1:
            phrase = Query.phrase_query(self._schema, "message", list(words), slop=_PHRASE_SLOP)
            parts.append((Occur.Should, Query.boost_query(phrase, 2.0)))
        return Query.boolean_query(parts)

    def _written(self, words: list[str], *, typing: bool) -> list[Query]:
        last = len(words) - 1
        return [
            self._begins(word) if typing and i == last else self._exact(word)
            for i, word in enumerate(words)
        ]

    def _exact(self, word: str) -> Query:
        return Query.const_score_query(self._term("all", word), 1.0)

    def _begins(self, word: str) -> Query:
        begins = Query.fuzzy_term_query(self._schema, "all", word, 0, True, True)  # noqa: FBT003  # no typo, a prefix
        return Query.const_score_query(begins, 1.0)

    def _near(self, word: str, *, last: bool) -> Query:
        ways = [self._begins(word) if last else self._exact(word)]
        if len(word) >= _SHORTEST_TYPO + last and not word.isdigit():
            near = Query.fuzzy_term_query(self._schema, "all", word, 1, True, last)  # noqa: FBT003  # a swap is one typo
            ways.append(Query.const_score_query(near, 0.5))
        return Query.disjunction_max_query(ways)
