import pytest

from sandbox_server.core import Call, Caller
from sandbox_server.features.mcp.tools import McpToolCall, McpTools, McpToolsRequest
from tests.features.mcp.conftest import FakeMcpProcess

pytestmark = pytest.mark.anyio

CALL = Call(Caller("me"), "r1", headers={"x-sandbox-caller": "me"})


@pytest.fixture
def tools(mcp_process: FakeMcpProcess) -> McpTools:
    return McpTools(mcp_process)  # type: ignore[arg-type]


async def test_the_tools_of_one_server_are_listed(tools: McpTools) -> None:
    assert (await tools.list_mcp_tools(McpToolsRequest(server_name="x"), CALL))["tools"][0]["name"] == "x"


async def test_arguments_may_have_any_names(tools: McpTools) -> None:
    request = McpToolCall(server_name="s", tool_name="t", arguments={"server_name": "other", "n": None})

    assert "{'server_name': 'other', 'n': None}" in str((await tools.execute_mcp_tool(request, CALL))["content"])
