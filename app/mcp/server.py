"""The protocol's server: lists the tools, checks what they are given, and says what went wrong.

What a model did wrong comes back as the result of its call, in the sentences of the JSON routes,
so that it can try again; nothing of a fault of ours is shown to it.
"""

import json
import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from anyio.to_thread import run_sync
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ToolFace
from pydantic import ValidationError
from starlette.requests import Request

from app.exceptions import NotFoundError, ReprobaseError
from app.http.faults import field_names, said_of
from app.mcp.tools import BY_NAME, TOOLS, Around, Tool
from app.services.filters import UnknownValueError
from app.services.near import near_words

log = logging.getLogger(__name__)
INSTRUCTIONS = (
    "Reprobase knows the errors of LLM serving engines, computed from their releases, and which of "
    "them were executed. Given a log, call diagnose_log first; given one message, search_errors "
    "and then get_error; given a launch line, preflight_command. Say of a claim whether its run "
    "passed: evidence lists the runs."
)
_READ_ONLY = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def make_server(around: Callable[[Request | None], Around]) -> Server[Any]:
    """The server of the five tools.

    Args:
        around: what a call works with; told the HTTP request that it came by, if any.
    """

    async def list_tools(
        _context: ServerRequestContext[Any], _asked: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_face(tool) for tool in TOOLS])

    async def call_tool(
        context: ServerRequestContext[Any], asked: CallToolRequestParams
    ) -> CallToolResult:
        tool = BY_NAME.get(asked.name)
        if tool is None:
            near = near_words(asked.name, list(BY_NAME))
            hint = f" Did you mean {near[0]!r}?" if near else ""
            said = f"There is no tool {asked.name!r}.{hint} The tools are {', '.join(BY_NAME)}."
            raise MCPError(INVALID_PARAMS, said)
        request = context.request if isinstance(context.request, Request) else None
        return await run_sync(_call, tool, asked.arguments or {}, around(request))

    return Server(
        "reprobase",
        version=version("reprobase"),
        title="Reprobase",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _face(tool: Tool) -> ToolFace:
    return ToolFace(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(by_alias=True),
        output_schema=tool.output.model_json_schema(by_alias=True, mode="serialization")
        if tool.output
        else None,
        annotations=_READ_ONLY,
    )


def _call(tool: Tool, given: dict[str, Any], around: Around) -> CallToolResult:
    try:
        asked = tool.arguments.model_validate(given)
    except ValidationError as e:
        return _failed(said_of(e.errors(), field_names(tool.arguments)))
    try:
        document = tool.call(around, asked)
    except ReprobaseError as e:
        near = list(e.near) if isinstance(e, (NotFoundError, UnknownValueError)) else []
        unsaid = [word for word in near if word not in str(e)]
        return _failed(f"{e} Near: {', '.join(unsaid)}." if unsaid else str(e))
    except Exception:
        log.exception("%s failed", tool.name)
        return _failed("This is a fault of the server, not of your call. Its log says more.")
    text = json.dumps(document, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=document
    )


def _failed(said: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)
