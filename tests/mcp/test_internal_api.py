"""The internal HTTP API over a socket, with the client that the API process uses."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Conflict, InvalidArgument, NotFound, Unavailable
from sandbox_server.drivers.clients.mcp_process import McpProcessClient
from sandbox_server.drivers.ipc.unix_http import exchange
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.mcp import app
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.registry import ServerRegistry
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from tests.mcp import sample_server
from tests.mcp.conftest import InProcessConnector
from tests.patience import eventually

pytestmark = pytest.mark.anyio

CODE = {"x-sandbox-caller": "test", "x-sandbox-scopes": "code view files"}


@pytest.fixture
async def socket(api_socket: str, serving: Callable[..., Any], tmp_path: Path) -> AsyncIterator[str]:
    """The socket of an MCP process with one upstream server."""
    configs = {"sample": ServerConfig(command="x"), "secret": ServerConfig(command="x", hidden=True)}
    sources = ServerRegistry(configs, "/nowhere", None, JsonFile(str(tmp_path / "added.json")))
    servers = UpstreamServers(sources, InProcessConnector().connect, idle_seconds=0)
    with serving(app.create_mcp_app(api_socket, app.McpParts(sources, servers), "1"), tmp_path / "mcp.sock") as served:
        yield served


@pytest.fixture
def mcp_process(socket: str) -> McpProcessClient:
    return McpProcessClient(socket)


async def test_servers_are_named_and_the_hidden_ones_where_they_are_asked_for(mcp_process: McpProcessClient) -> None:
    assert await mcp_process.names(CODE, hidden=False) == ["sandbox", "browser", "markitdown", "sample"]
    assert "secret" in await mcp_process.names(CODE, hidden=True)
    assert "sample" not in await mcp_process.names(CODE | {"x-sandbox-scopes": "view"}, hidden=True)


async def test_tools_have_the_names_that_their_server_gives_them(mcp_process: McpProcessClient) -> None:
    foreign = {tool["name"]: tool for tool in (await mcp_process.tools("sample", CODE))["tools"]}
    own = {tool["name"] for tool in (await mcp_process.tools("sandbox", CODE))["tools"]}

    assert {"echo", "sample_sum"} <= set(foreign)
    assert foreign["echo"]["inputSchema"]["required"] == ["text"]
    assert "sample_add" in own


@pytest.mark.parametrize("name", ["echo", "sample_echo"])
async def test_a_foreign_tool_is_called_by_either_name(mcp_process: McpProcessClient, name: str) -> None:
    assert (await mcp_process.call("sample", name, {"text": "hi"}, CODE))["structuredContent"] == {"result": "hi"}


async def test_a_tool_of_the_sandbox_is_called_in_the_name_of_the_caller(mcp_process: McpProcessClient, sample: Any) -> None:
    assert (await mcp_process.call("sandbox", "sample_add", {"left": 2}, CODE))["structuredContent"] == {"total": 3}
    assert sample.calls[-1].caller.name == "test"


async def test_a_tool_that_fails_is_an_answer(mcp_process: McpProcessClient) -> None:
    assert (await mcp_process.call("sample", "fail", {}, CODE))["isError"] is True
    assert (await mcp_process.call("sandbox", "sample_add", {"nothing": 1}, CODE))["isError"] is True


@pytest.mark.parametrize(("server", "tool"), [("nobody", "echo"), ("sample", "nothing"), ("sandbox", "nothing"), ("browser", "sample_add")])
async def test_what_is_not_there_is_not_found(mcp_process: McpProcessClient, server: str, tool: str) -> None:
    with pytest.raises(NotFound, match=server):
        await mcp_process.call(server, tool, {}, CODE)


async def test_the_allow_list_of_a_token_holds_here_too(mcp_process: McpProcessClient) -> None:
    narrow = CODE | {"x-sandbox-tools": "sample_echo"}

    assert [tool["name"] for tool in (await mcp_process.tools("sample", narrow))["tools"]] == ["echo"]
    assert (await mcp_process.tools("sandbox", narrow))["tools"] == []
    for server, tool in (("sample", "sample_sum"), ("sandbox", "sample_add")):
        with pytest.raises(NotFound):
            await mcp_process.call(server, tool, {"left": 1, "right": 1}, narrow)


async def test_servers_come_and_go_while_it_runs(mcp_process: McpProcessClient) -> None:
    await mcp_process.add("mine", {"command": "x"}, CODE)
    assert (await mcp_process.call("mine", "echo", {"text": "new"}, CODE))["structuredContent"] == {"result": "new"}
    assert {state["name"]: state["origin"] for state in await mcp_process.status(CODE)}["mine"] == "added"

    await mcp_process.remove("mine", CODE)

    with pytest.raises(NotFound):
        await mcp_process.tools("mine", CODE)
    with pytest.raises(Conflict):
        await mcp_process.remove("sample", CODE)
    with pytest.raises(InvalidArgument):
        await mcp_process.add("mine", {}, CODE)


async def test_nobody_is_answered_who_does_not_say_who_it_is(socket: str) -> None:
    status, _ = await exchange(socket, "GET", "/hub/servers", b"", {})

    assert status == 401


async def test_the_protocol_serves_them_too(socket: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sample_echo", "arguments": {"text": "hi"}}}
    _, body = await exchange(socket, "POST", "/mcp", json.dumps(call).encode(), CODE | {"Content-Type": "application/json"})

    assert json.loads(body)["result"]["structuredContent"] == {"result": "hi"}


async def test_a_hub_that_is_not_there_can_be_asked_again(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        await McpProcessClient(str(tmp_path / "none.sock")).names(CODE, hidden=False)

    assert refused.value.retry_after


async def test_a_call_that_nobody_waits_for_any_more_is_cancelled(mcp_process: McpProcessClient) -> None:
    call = asyncio.create_task(mcp_process.call("sample", "wait", {"mark": "inside"}, CODE))
    await eventually(lambda: "inside" in sample_server.waiting)
    call.cancel()

    await eventually(lambda: "inside" in sample_server.cancelled)
