"""The official client, asked from synchronous tests."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

Asking = Callable[[Client], Awaitable[Any]]


def ask(server: str | StdioServerParameters, asking: Asking, *, mode: str = "auto") -> Any:
    """Connect a client, let it ask, and give what it got."""

    async def connected() -> Any:
        with anyio.fail_after(60):
            async with Client(server, mode=mode) as client:
                return await asking(client)

    return anyio.run(connected)


def call(server: str | StdioServerParameters, tool: str, **arguments: Any) -> Any:
    """The structured result of one call."""

    async def asking(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    found = ask(server, asking)
    assert not found.is_error, found.content
    return found.structured_content


def refused(server: str | StdioServerParameters, tool: str, **arguments: Any) -> str:
    """What a call that fails says."""

    async def asking(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    found = ask(server, asking)
    assert found.is_error, found.structured_content
    return str(found.content[0].text)
