"""One filled world, offered over both transports."""

import os
import sys
from collections.abc import Iterator

import pytest
from mcp import StdioServerParameters

from app.settings import Settings
from tests.web.browsers import serving
from tests.web.conftest import empty, site, world

__all__ = ["empty", "site", "world"]


@pytest.fixture(scope="session")
def address(world: Settings) -> Iterator[str]:
    """The address of a running site."""
    with serving(world) as found:
        yield found


@pytest.fixture(params=["stdio", "http"])
def server(
    request: pytest.FixtureRequest, world: Settings, address: str
) -> str | StdioServerParameters:
    """How a client reaches the tools."""
    if request.param == "http":
        return f"{address}/mcp"
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "app.cli", "mcp"],
        env={
            **os.environ,
            "REPROBASE_DATABASE_URL": world.database_url,
            "REPROBASE_CACHE_DIR": str(world.cache_dir),
        },
    )
