"""Writes the index file that `app.diagnosis.index` reads; its layout is described there."""

import json
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from app.diagnosis.index import ALIGN, MAGIC, TemplateRecord, key64, reach_of


@dataclass(slots=True)
class Contents:
    """What `pack` puts into a file."""

    meta: dict[str, Any]
    records: Sequence[TemplateRecord]
    literals: Sequence[bytes]
    postings: Sequence[Sequence[int]]
    """Records of each literal."""
    by_function: Mapping[str, Mapping[str, Sequence[int]]]
    """Function name → class → records that no fixed string leads to."""
    by_class: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Class → curated records that have a pattern and no fixed string."""
    openings: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """First characters in small letters → records; see `opening`."""
    matcher: bytes = b""
    sieve: bytes = b""
    places: Mapping[str, Any] = field(default_factory=dict)
    """File → {"names": [...], "variants": [[[release index], [name, line, ...]]]}."""


def pack(contents: Contents) -> bytes:
    """The bytes of an index file."""
    records = [_dump(_values(r)) for r in contents.records]
    ids = sorted((int(r.entry_id, 16), i) for i, r in enumerate(contents.records))
    places = sorted((key64(name), _squash(value)) for name, value in contents.places.items())
    flat: array[int] = array("I", [n for posting in contents.postings for n in posting])
    sections = {
        "meta": _dump({**contents.meta, "longest": max(map(len, contents.literals), default=0)}),
        "matcher": contents.matcher,
        "sieve": contents.sieve,
        "literals": b"".join(contents.literals),
        "literal_at": _offsets(contents.literals),
        "postings": flat.tobytes(),
        "posting_at": _offsets(contents.postings),
        "reach": bytes(
            reach_of(contents.records[n] for n in numbers) for numbers in contents.postings
        ),
        "records": b"".join(records),
        "record_at": _offsets(records),
        "by_function": _dump(contents.by_function),
        "by_class": _dump(contents.by_class),
        **_openings(contents.openings),
        "ids": array("Q", [i for i, _ in ids]).tobytes(),
        "id_records": array("I", [n for _, n in ids]).tobytes(),
        "places": b"".join(value for _, value in places),
        "place_keys": array("Q", [key for key, _ in places]).tobytes(),
        "place_at": _offsets([value for _, value in places]),
    }
    toc: dict[str, list[int]] = {}
    at = 0
    for name, data in sections.items():
        toc[name] = [at, len(data)]
        at += -(-len(data) // ALIGN) * ALIGN
    head = _dump(toc)
    out = [MAGIC, len(head).to_bytes(8, "little"), head]
    out.append(b"\0" * (-sum(map(len, out)) % ALIGN))
    for data in sections.values():
        out += [data, b"\0" * (-len(data) % ALIGN)]
    return b"".join(out)


def _values(record: TemplateRecord) -> list[Any]:
    """The fields of a record in order, without the empty ones at the end."""
    values = list(asdict(record).values())
    while not values[-1]:
        values.pop()
    return values


def _openings(openings: Mapping[str, Sequence[int]]) -> dict[str, bytes]:
    rows = sorted((key64(text), n) for text, numbers in openings.items() for n in numbers)
    return {
        "opening_keys": array("Q", [key for key, _ in rows]).tobytes(),
        "opening_records": array("I", [n for _, n in rows]).tobytes(),
    }


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _squash(value: Any) -> bytes:
    return zlib.compress(_dump(value), 6)


def _offsets(items: Sequence[Any]) -> bytes:
    offsets: array[int] = array("I", [0])
    for item in items:
        offsets.append(offsets[-1] + len(item))
    return offsets.tobytes()
