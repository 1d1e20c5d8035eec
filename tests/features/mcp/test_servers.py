import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.features.mcp.servers import ListMcpServers, McpServerName, McpServers, NewMcpServer
from tests.features.mcp.conftest import FakeHub

pytestmark = pytest.mark.anyio

CALL = Call(Caller("me"), "r1", headers={"x-sandbox-caller": "me"})


@pytest.fixture
def servers(hub: FakeHub) -> McpServers:
    return McpServers(hub)  # type: ignore[arg-type]


async def test_servers_are_listed_for_the_caller_with_their_states(servers: McpServers, hub: FakeHub) -> None:
    assert await servers.list_mcp_servers(ListMcpServers(include_hidden=True), CALL) == ["sandbox"]
    assert hub.asked == [("me", True)]
    assert (await servers.server_states(CALL))[0].name == "mine"


async def test_a_server_is_added_with_what_was_said_and_removed(servers: McpServers, hub: FakeHub) -> None:
    added = await servers.add_server(NewMcpServer(server_name="mine", command="x", env={"KEY": "v"}), CALL)
    await servers.remove_server(McpServerName(server_name="mine"), CALL)

    assert added.origin == "added"
    assert hub.asked == [("mine", {"command": "x", "env": {"KEY": "v"}}), ("mine",)]
