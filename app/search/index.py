"""One search index: made of documents, kept in a folder or in memory, asked by many threads."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import tantivy

from app.search.documents import Document
from app.search.filters import Filters
from app.search.pasted import Shape, Templates, shape_of
from app.search.words import KEY, RIGHT, Asker, spread, words_of

FORMAT: Final = 2
"""Changes with everything that makes an old index unusable."""
_TEMPLATES_FILE: Final = "templates.json"
_HEAP: Final = 60_000_000
_FEW: Final = 20
"""With fewer hits than this, typos are looked for as well."""

Way = Literal["key", "message", "words", "typo", "some-words", "all"]


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that was found."""

    id: str
    score: float
    way: Way
    """By what: its id or slug, a pasted message, all words, words with a typo, most words."""


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits, best first, and how many there are in all."""

    hits: list[Hit]
    total: int


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("keys", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("marks", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("message")
    builder.add_text_field("name", index_option="freq")
    builder.add_text_field("place", index_option="freq")
    builder.add_text_field("all", index_option="basic")
    builder.add_integer_field("rank", fast=True)
    return builder.build()


class SearchIndex:
    """The index of one state of the catalog."""

    def __init__(self, index: tantivy.Index, templates: Templates) -> None:
        """Take over an index; use `build` or `open`."""
        self._index = index
        self._searcher = index.searcher()
        self._asker = Asker(index.schema)
        self._templates = templates

    @classmethod
    def build(cls, documents: Sequence[Document], folder: Path | None = None) -> "SearchIndex":
        """Make an index of documents; their order is the order of an empty query.

        Args:
            documents: the entries.
            folder: an empty folder to keep it in; in memory if None.
        """
        index = tantivy.Index(_schema(), path=str(folder) if folder else None)
        writer = index.writer(heap_size=_HEAP, num_threads=1)
        for rank, document in enumerate(documents):
            writer.add_document(_fields(document, rank))
        writer.commit()
        writer.wait_merging_threads()
        made = (shape_of(d.id, message) for d in documents for message in d.messages)
        shapes = [shape for shape in made if shape is not None]
        if folder:
            (folder / _TEMPLATES_FILE).write_text(json.dumps(shapes), encoding="utf-8")
        index.reload()
        return cls(index, Templates(shapes))

    @classmethod
    def open(cls, folder: Path) -> "SearchIndex":
        """Open the index of a folder.

        Raises:
            OSError: it is not there, or not all of it.
            ValueError: it is damaged.
        """
        rows = json.loads((folder / _TEMPLATES_FILE).read_text(encoding="utf-8"))
        return cls(tantivy.Index.open(str(folder)), Templates(map(Shape._make, rows)))

    def search(
        self, text: str, filters: Filters | None = None, *, limit: int = 20, offset: int = 0
    ) -> Found:
        """Find entries.

        Args:
            text: words, the beginning of a word at its end, an id, a slug, or a message as it was
                printed; any text at all. Empty: every entry, explained ones first.
            filters: what must hold besides.
            limit: the most hits to give.
            offset: how many to leave out before.
        """
        text = text.encode("utf-8", "replace").decode()  # lone surrogates
        chosen = filters or Filters()
        if chosen.ids is not None and not chosen.ids:
            return Found([], 0)
        if not text.strip():
            return self._page(self._asker.complete(None, "", [], chosen), "all", [], limit, offset)
        words = words_of(text)
        pasted = self._templates.matching(text)
        found = Found([], 0)
        for way, query, enough in self._ways(words, typing=not text[-1:].isspace()):
            whole = self._asker.complete(query, text, pasted, chosen)
            found = self._page(whole, way, pasted, limit, offset)
            if pasted or found.total >= enough:
                break
        return found

    def _ways(
        self, words: list[str], *, typing: bool
    ) -> Iterator[tuple[Way, tantivy.Query | None, int]]:
        """Questions from narrow to wide, each with the number of hits that makes it the last."""
        if not words:
            yield "words", None, 0
            return
        yield "words", self._asker.all_words(words, typing=typing), _FEW
        yield "typo", self._asker.nearly_all_words(words, typing=typing), 1
        if len(words) > 1:
            yield "some-words", self._asker.most_words(words), 0

    def _page(
        self, query: tantivy.Query, way: Way, pasted: Sequence[str], limit: int, offset: int
    ) -> Found:
        got = self._searcher.search(
            query,
            max(limit, 1),
            count=True,
            order_by_field="rank" if way == "all" else None,
            offset=offset,
            order=tantivy.Order.Asc if way == "all" else tantivy.Order.Desc,
        )
        hits = []
        for score, address in got.hits[:limit]:
            entry_id = str(self._searcher.doc(address).get_first("id"))
            value = float(score) if way != "all" else 0.0
            hits.append(Hit(entry_id, value, _way_of(entry_id, value, way, pasted)))
        return Found(hits, _total(got))


def _way_of(entry_id: str, score: float, way: Way, pasted: Sequence[str]) -> Way:
    """By what one entry was found, among those that a question of some width found."""
    if score >= KEY:
        return "key"
    if entry_id in pasted:
        return "message"
    return "words" if way == "typo" and score >= RIGHT else way


def _total(result: tantivy.SearchResult) -> int:
    return int(result.count)  # type: ignore[attr-defined]  # tantivy's stub leaves it out


def _fields(document: Document, rank: int) -> tantivy.Document:
    message = "\n".join(document.messages)
    name = "\n".join(
        [
            document.error_class,
            spread(document.error_class),
            document.slug,
            document.package,
            document.family,
        ]
    )
    place = "\n".join(map(spread, [*document.functions, *document.files, *document.conditions]))
    return tantivy.Document(
        id=[document.id],
        keys=[key.lower() for key in document.keys],
        marks=document.marks,
        message=[message],
        name=[name],
        place=[place],
        all=[message, name, place, document.text],
        rank=rank,
    )
