"""The five tools, asked by the protocol's official client over both transports."""

import json
from typing import Any

import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from starlette.testclient import TestClient

from tests.mcp.asking import ask, call, refused
from tests.web.catalogs import ENTRY_ID, TABLE

Server = str | StdioServerParameters
NAMES = ["search_errors", "get_error", "diagnose_log", "preflight_command", "get_reproducer"]
EXPLAINED = "kda-verify-exceeds-scratch-steps"
LINE = TABLE[: TABLE.index("raise")].count("\n") + 1
LOG = f"""Traceback (most recent call last):
  File "/x/site-packages/sglang/table.py", line {LINE}, in take
    raise ValueError(...)
ValueError: needs 16 rows, has 8
"""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_are_the_five_and_change_nothing(server: Server, mode: str) -> None:
    async def asking(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = ask(server, asking, mode=mode)
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert len(tool.description or "") > 40
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert all(field.get("description") for field in tool.input_schema["properties"].values())


def test_an_error_is_found_and_shown_as_the_json_routes_show_it(
    server: Server, site: TestClient
) -> None:
    words = "needs 16 rows, has 8"
    found = call(server, "search_errors", query=words, limit=3)
    assert found["records"][0]["id"] == ENTRY_ID
    assert found == site.get("/api/errors", params={"q": words, "limit": 3}).json()
    document = call(server, "get_error", key=ENTRY_ID)
    assert document == site.get(f"/api/errors/{ENTRY_ID}").json()
    assert {run["step"] for run in document["record"]["evidence"]} == {"trigger", "fix"}
    by_old_id = call(server, "get_error", key="018e342afa37fa9e")
    assert by_old_id["record"]["explained"] is True


def test_errors_are_filtered_by_evidence_as_over_http(server: Server, site: TestClient) -> None:
    """What was executed and what was not are told apart, and together they are all."""
    total = call(server, "search_errors", limit=1)["total"]
    for evidence in ("written", "synthesized", "none"):
        asked: dict[str, str | int] = {"evidence": evidence, "limit": 3}
        found = call(server, "search_errors", **asked)
        assert found == site.get("/api/errors", params=asked).json()
        assert {row["noEvidence"] is None for row in found["records"]} <= {evidence != "none"}
        total -= found["total"]
    assert total == 0
    assert "Did you mean 'written'?" in refused(server, "search_errors", evidence="writen")


def test_the_text_of_an_answer_is_its_json(server: Server) -> None:
    async def asking(client: Client) -> Any:
        return await client.call_tool("search_errors", {"class": "ValueError"})

    found = ask(server, asking)
    assert json.loads(found.content[0].text) == found.structured_content
    assert {row["errorClass"] for row in found.structured_content["records"]} == {"ValueError"}


def test_a_log_is_diagnosed_as_over_http(server: Server, site: TestClient) -> None:
    found = call(server, "diagnose_log", log=LOG)
    assert found["verdict"] == "known"
    assert found["findings"][found["rootCause"]]["entryId"] == ENTRY_ID
    assert found["findings"][found["rootCause"]]["params"] == {"wanted": 16, "rows": 8}
    assert found == site.post("/api/diagnose", content=LOG.encode()).json()


def test_a_reproducer_comes_with_its_code_and_its_runs(server: Server) -> None:
    found = call(server, "get_reproducer", key=EXPLAINED)
    assert (found["kind"], found["command"]) == ("handwritten", f"reprobase run {EXPLAINED}")
    compile(found["source"], found["file"], "exec")
    assert "raise" not in found["trigger"], "the engine's own code raises"
    assert any(run["step"] == "trigger" and run["passed"] for run in found["evidence"])
    none = call(server, "get_reproducer", key=ENTRY_ID)
    assert (none["kind"], none["source"]) == ("none", None)


def test_what_is_wrong_with_a_call_is_said_to_the_model(server: Server) -> None:
    assert EXPLAINED in refused(server, "get_error", key=f"{EXPLAINED}s")
    assert "Did you mean 'limit'?" in refused(server, "search_errors", limitt=3)
    assert refused(server, "search_errors", limit=0) == "limit is 0; the least is 1."
    assert "is missing" in refused(server, "get_error")
    assert "empty" in refused(server, "diagnose_log", log=" \n")
    assert "line is empty" in refused(server, "preflight_command", command=" ")
    said = refused(server, "search_errors", query="x", status="explaind")
    assert "Did you mean 'explained'?" in said


def test_a_tool_that_is_none_is_an_error_of_the_protocol(server: Server) -> None:
    async def asking(client: Client) -> Any:
        return await client.call_tool("get_eror", {})

    with pytest.raises((MCPError, BaseExceptionGroup)) as caught:
        ask(server, asking)
    errors = [e for e in _leaves(caught.value) if isinstance(e, MCPError)]
    assert "Did you mean 'get_error'?" in str(errors[0])


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for one in error.exceptions for leaf in _leaves(one)]
    return [error]
