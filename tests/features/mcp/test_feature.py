from collections.abc import Mapping
from typing import Any

import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.features.mcp.feature import ListServers, McpServers, NewServer, ServerName, ToolCall

pytestmark = pytest.mark.anyio

CALL = Call(Caller("me"), "r1", headers={"x-sandbox-caller": "me"})
STATE = {"name": "mine", "kind": "stdio", "origin": "added", "state": "stopped", "hidden": False, "tools": None, "reason": None}


class FakeHub:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def names(self, headers: Mapping[str, str], *, hidden: bool) -> list[str]:
        self.asked.append((headers["x-sandbox-caller"], hidden))
        return ["sandbox"]

    async def status(self, headers: Mapping[str, str]) -> list[dict[str, Any]]:
        return [STATE]

    async def tools(self, server: str, headers: Mapping[str, str]) -> Any:
        return {"tools": [{"name": server, "inputSchema": {"type": "object"}}]}

    async def call(self, server: str, tool: str, arguments: Any, headers: Mapping[str, str]) -> Any:
        return {"content": [{"type": "text", "text": f"{server} {tool} {arguments}"}], "isError": False}

    async def add(self, server: str, config: Any, headers: Mapping[str, str]) -> None:
        self.asked.append((server, config))

    async def remove(self, server: str, headers: Mapping[str, str]) -> None:
        self.asked.append((server,))


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def servers(hub: FakeHub) -> McpServers:
    return McpServers(hub)  # type: ignore[arg-type]


async def test_servers_and_tools_are_listed_for_the_caller(servers: McpServers, hub: FakeHub) -> None:
    assert await servers.list_mcp_servers(ListServers(include_hidden=True), CALL) == ["sandbox"]
    assert hub.asked == [("me", True)]
    assert (await servers.list_mcp_tools(ServerName(server_name="x"), CALL))["tools"][0]["name"] == "x"
    assert (await servers.server_states(CALL))[0].name == "mine"


async def test_arguments_may_have_any_names(servers: McpServers) -> None:
    request = ToolCall(server_name="s", tool_name="t", arguments={"server_name": "other", "n": None})

    assert "{'server_name': 'other', 'n': None}" in str((await servers.execute_mcp_tool(request, CALL))["content"])


async def test_a_server_is_added_with_what_was_said_and_removed(servers: McpServers, hub: FakeHub) -> None:
    added = await servers.add_server(NewServer(server_name="mine", command="x", env={"KEY": "v"}), CALL)
    await servers.remove_server(ServerName(server_name="mine"), CALL)

    assert added.origin == "added"
    assert hub.asked == [("mine", {"command": "x", "env": {"KEY": "v"}}), ("mine",)]
