"""The short way for answers that are rendered already: bytes to the socket, no framework between.

It stands in front of the application and answers only what the application has answered before,
by the same address, in the same state of the catalog; everything else goes on inwards. What it
sends is what `app.http.answers.answer` and `app.http.layers` would: the same headers, the same
tags, 304 where the reader has it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from app.exceptions import ReprobaseError
from app.http.answers import CACHED, Answers, Rendered, tags_of
from app.http.hosts import Hosts
from app.http.layers import HEADERS
from app.http.metrics import Counters

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Pairs = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """An answer as messages that can be sent as they are."""

    etag: str
    plain: tuple[Message, Message]
    packed: tuple[Message, Message] | None
    unchanged: dict[bool, Message]
    """304, by whether the reader takes gzip."""


def prepare(made: Rendered) -> Prepared:
    """Put the messages of an answer together once."""

    def start(status: int, *, zipped: bool, more: Pairs) -> Message:
        tag = f'"{made.etag}{"-gz" if zipped else ""}"'.encode()
        pairs: Pairs = [(b"etag", tag), *CACHED, *more, *HEADERS]
        return {"type": "http.response.start", "status": status, "headers": pairs}

    def whole(body: bytes, *, zipped: bool) -> tuple[Message, Message]:
        more: Pairs = [
            (b"content-type", made.media_type.encode()),
            (b"content-length", str(len(body)).encode()),
            *([(b"content-encoding", b"gzip")] if zipped else []),
        ]
        return start(200, zipped=zipped, more=more), {"type": "http.response.body", "body": body}

    zips = made.packed is not None
    return Prepared(
        etag=made.etag,
        plain=whole(made.body, zipped=False),
        packed=whole(made.packed, zipped=True) if made.packed is not None else None,
        unchanged={takes: start(304, zipped=takes and zips, more=[]) for takes in (False, True)},
    )


class Ready:
    """Answers GET and HEAD of known addresses, and hands everything else on."""

    def __init__(self, app: ASGIApp, answers: Answers, counters: Counters, hosts: Hosts) -> None:
        self._app = app
        self._answers = answers
        self._hosts = hosts
        self._counters = counters
        self._prepared: WeakKeyDictionary[Rendered, Prepared] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        made = await self._known(scope["path"], scope["query_string"])
        if made is None or not self._hosts.knows(scope):
            await self._app(scope, receive, send)
            return
        status = await self._answer(self._of(made), scope, send)
        self._counters.count(scope["method"], status, time.perf_counter() - began)

    async def _known(self, path: str, query: bytes) -> Rendered | None:
        """The answer of an address, if it was made for the catalog as it is now."""
        if self._answers.ready(path, query) is None:
            return None
        try:
            await self._answers.refresh()
        except ReprobaseError:
            return None  # the application says what is wrong with the database
        return self._answers.ready(path, query)

    def _of(self, made: Rendered) -> Prepared:
        found = self._prepared.get(made)
        if found is None:
            found = self._prepared[made] = prepare(made)
        return found

    @staticmethod
    async def _answer(made: Prepared, scope: Scope, send: Send) -> int:
        takes, asked = False, ""
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                takes = b"gzip" in value
            elif name == b"if-none-match":
                asked = value.decode("latin-1")
        if asked and (asked.strip() == "*" or made.etag in tags_of(asked)):
            await send(made.unchanged[takes])
            await send({"type": "http.response.body", "body": b""})
            return 304
        start, body = made.packed if takes and made.packed else made.plain
        await send(start)
        await send(
            {"type": "http.response.body", "body": b""} if scope["method"] == "HEAD" else body
        )
        return 200
