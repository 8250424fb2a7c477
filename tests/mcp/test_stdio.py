"""Lines on standard input that are no message are answered, and the connection is kept."""

import json
import os
import subprocess
import sys
from typing import Any

from app.settings import PROJECT_ROOT, Settings

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def replies(settings: Settings, lines: list[bytes]) -> list[dict[str, Any]]:
    """What the server says to some lines, one after the other, until its input ends."""
    server = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "mcp"],
        env=os.environ
        | {
            "REPROBASE_DATABASE_URL": settings.database_url,
            "REPROBASE_CACHE_DIR": str(settings.cache_dir),
        },
        cwd=PROJECT_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        found = []
        for line in lines:
            server.stdin.write(line + b"\n")
            server.stdin.flush()
            found.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.wait(30) == 0
        return found
    finally:
        server.kill()
        server.wait()


ODD = {
    b"no json at all": -32700,
    b'{"jsonrpc": "2.0", "id": 7, "method": ': -32700,
    b"\xff\xfe\x00": -32700,
    b"": -32700,
    b"[" * 5000: -32700,
    b"[]": -32600,
    b'{"id": 7}': -32600,
}


def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_read(world: Settings) -> None:
    *refused, welcome = replies(world, [*ODD, json.dumps(HELLO).encode()])
    assert [answer["error"]["code"] for answer in refused] == list(ODD.values())
    assert {answer["id"] for answer in refused} == {None}
    assert (welcome["id"], welcome["result"]["serverInfo"]["name"]) == (1, "reprobase")
