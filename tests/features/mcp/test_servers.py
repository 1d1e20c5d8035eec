import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.features.mcp.servers import ListMcpServers, McpServerName, McpServers, NewMcpServer
from tests.features.mcp.conftest import FakeMcpProcess

pytestmark = pytest.mark.anyio

CALL = Call(Caller("me"), "r1", headers={"x-sandbox-caller": "me"})


@pytest.fixture
def servers(mcp_process: FakeMcpProcess) -> McpServers:
    return McpServers(mcp_process)  # type: ignore[arg-type]


async def test_servers_are_listed_for_the_caller_with_their_states(servers: McpServers, mcp_process: FakeMcpProcess) -> None:
    assert await servers.list_mcp_servers(ListMcpServers(include_hidden=True), CALL) == ["sandbox"]
    assert mcp_process.asked == [("me", True)]
    assert (await servers.server_states(CALL))[0].name == "mine"


async def test_a_server_is_added_with_what_was_said_and_removed(servers: McpServers, mcp_process: FakeMcpProcess) -> None:
    added = await servers.add_server(NewMcpServer(server_name="mine", command="x", env={"KEY": "v"}), CALL)
    await servers.remove_server(McpServerName(server_name="mine"), CALL)

    assert added.origin == "added"
    assert mcp_process.asked == [("mine", {"command": "x", "env": {"KEY": "v"}}), ("mine",)]
