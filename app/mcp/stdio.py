"""The tools over standard input and output: for a client on this machine that starts us itself.

A line that is no message is answered with the error that JSON-RPC has for it, and the next one is
read: the protocol's own server passes over it, and the client would wait for an answer.
"""

from types import TracebackType
from typing import Any, Self

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError
from starlette.requests import Request

from app.mcp.server import make_server
from app.mcp.tools import Around, Document
from app.services.preflight import Question, check
from app.services.preflight_warm import WarmPool
from app.settings import Settings


def serve_stdio(settings: Settings) -> None:
    """Answer until standard input ends."""
    pool = WarmPool()

    def preflight(*, line: str, release: str, gpu: str, config: str) -> Document:
        question = Question(
            line=line,
            release=release.strip() or settings.default_release,
            gpu=gpu.strip() or None,
            config_text=config if config.strip() else None,
            local=False,  # a model names the paths: none is looked into
        )
        return check(question, settings, pool=pool).as_json()

    around = Around(settings, preflight)

    def same(_request: Request | None) -> Around:
        return around

    server = make_server(same)

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            messages = _Messages(reading, writing)
            await server.run(messages, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        pool.close()


class _Messages:
    """The messages of a stream; what is none is answered here."""

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading, self._writing = reading, writing

    @property
    def last_context(self) -> Any:
        """The context of the newest message, which the protocol's server asks for."""
        return self._reading.last_context

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        while True:
            found = await self._reading.receive()
            if not isinstance(found, Exception):
                return found  # type: ignore[no-any-return]  # the stream's own type
            await self._writing.send(SessionMessage(_refusal(found)))

    async def aclose(self) -> None:
        """Close the stream."""
        await self._reading.aclose()

    def __aiter__(self) -> Self:
        """All messages."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message, while there is one."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        """The stream itself."""
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.aclose()


def _refusal(error: Exception) -> JSONRPCError:
    """The answer to a line that is no message; nobody knows whose id it should have."""
    broken = isinstance(error, ValidationError) and any(
        one["type"] == "json_invalid" for one in error.errors()
    )
    code, said = (
        (PARSE_ERROR, "That line is no JSON: a message is one JSON object on one line.")
        if broken
        else (INVALID_REQUEST, "That line is JSON and no message of JSON-RPC 2.0.")
    )
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=said))
