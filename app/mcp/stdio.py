"""The tools over standard input and output: for a client on this machine that starts us itself."""

import anyio
from mcp.server.stdio import stdio_server
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
            await server.run(reading, writing, server.create_initialization_options())

    try:
        anyio.run(serve)
    finally:
        pool.close()
