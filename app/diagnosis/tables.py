"""Logs exported as a table: comma-separated values with a header that names the message's column.

Log services offer their records as CSV. Which column holds the program's words only the header
tells; without one, each field in quotes and a time stamp first, it is the last.
"""

import csv
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_MESSAGE: Final = re.compile(
    r"@?(?:message|msg|log|text|content|textpayload|line|_raw|body|event)$"
)
_OTHER: Final = re.compile(
    r"@?_?(?:time|timestamp|date|ts|host|hostname|service|pod|container|level|severity|status"
    r"|source|index|logstream|ingestiontime|namespace)$"
)
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{13}$")
_LOOKED_AT: Final = 12
"""Lines by which a table without a header is known."""
_MOST: Final = 40
"""Columns; a wider table is no log."""
_LONGEST_HEADER: Final = 1_000


class Row(NamedTuple):
    """One record."""

    line: int
    """Physical line it begins at, counted from 0."""
    text: str
    time: str | None


class Table(NamedTuple):
    """Which columns of a table say what."""

    message: int
    time: int | None
    width: int
    headed: bool = True
    """The first line names the columns."""


def table_of(lines: list[str]) -> Table | None:
    """The columns of a table; None if the lines are none of a log."""
    header = lines[0].strip("\ufeff\r")
    if "," not in header or len(header) > _LONGEST_HEADER:
        return None
    if header.startswith('"') and '","' in header and _STAMP.match(header[1:]):
        return _headless(lines[:_LOOKED_AT])
    try:
        names = [n.strip().lower() for n in next(csv.reader([header]), [])]
    except csv.Error:
        return None
    found = [i for i, n in enumerate(names) if _MESSAGE.match(n)]
    others = [i for i, n in enumerate(names) if _OTHER.match(n)]
    if not found or not others or len(names) > _MOST:
        return None
    stamps = [i for i in others if "time" in names[i] or names[i] in ("date", "ts")]
    return Table(found[0], stamps[0] if stamps else None, len(names))


def _headless(lines: list[str]) -> Table | None:
    whole = [x.rstrip("\r") for x in lines if x.strip()]
    if len(whole) < 2 or not all(x.startswith('"') and x.endswith('"') for x in whole):  # noqa: PLR2004  # one line may be anything
        return None
    try:
        widths = {len(row) for row in csv.reader(whole)}
    except csv.Error:
        return None
    width = widths.pop()
    fits = not widths and 1 < width <= _MOST
    return Table(width - 1, 0, width, headed=False) if fits else None


def rows(table: Table, lines: list[str]) -> Iterator[Row]:
    """The records of a table; what is none is given as it stands.

    Args:
        table: the columns.
        lines: its physical lines.
    """
    reader = csv.reader(lines[1:] if table.headed else lines)
    while True:
        begin = reader.line_num + table.headed
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue  # a field beyond the reader's limit
        if len(row) == table.width:
            yield Row(
                begin, row[table.message], row[table.time] if table.time is not None else None
            )
        elif row:
            yield Row(begin, ",".join(row), None)
