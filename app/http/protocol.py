"""Uvicorn's HTTP/1.1 over httptools, with an end to heads that do not come or do not end.

Uvicorn waits for the head of a request as long as the client likes, and keeps of it whatever comes.
Here a connection on which no request has come in whole within `SECONDS` is closed, and so is one
whose head is longer than `MOST_BYTES`. How a body may arrive is the work of `app.http.arrival`.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS: Final = 10.0
MOST_BYTES: Final = 64 << 10
_ANSWERS: Final = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


class PunctualProtocol(HttpToolsProtocol):
    """One connection."""

    _late: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """The first request has to come."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some of a request: while none is being answered, its head has to end soon."""
        in_body = not self._in_head and self.cycle is not None and self.cycle.more_body
        super().data_received(data)
        if self.transport.is_closing():
            self._stop()
            return
        if self._in_head and not in_body:  # or this piece holds the end of a body too
            self._head_bytes += len(data)
            if self._head_bytes > MOST_BYTES:
                self._refuse(431)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head has come."""
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def _wait(self) -> None:
        if self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(SECONDS, self._refuse, 408)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: int) -> None:
        self._stop()
        if self.transport.is_closing():
            return
        if self._in_head:
            said = f"HTTP/1.1 {status} {_ANSWERS[status]}\r\nConnection: close\r\n"
            self.transport.write(f"{said}Content-Length: 0\r\n\r\n".encode())
        self.transport.close()
