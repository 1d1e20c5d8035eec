from typing import Any

import pytest
from starlette.requests import Request

from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.api_tools import ApiTools, protocol_tool

pytestmark = pytest.mark.anyio

VIEW = ToolFilter(frozenset({"view", "code"}))


def request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": raw, "query_string": b"", "path": "/mcp"})


async def test_a_tool_is_found_by_name_and_alias_and_called(api: ApiClient) -> None:
    operations = ApiTools(api)
    tool = await operations.find("plus", VIEW)
    assert tool

    result = await operations.call(request(x_sandbox_caller="test", x_sandbox_scopes="code"), tool, {"left": 2})

    assert tool.name == "sample_add"
    assert result.structured_content == {"total": 3}


async def test_a_tool_that_the_filter_hides_is_not_found(api: ApiClient) -> None:
    assert await ApiTools(api).find("sample_add", ToolFilter(frozenset({"view"}))) is None


async def test_a_tool_is_listed_with_what_it_does(api: ApiClient, sample: Any) -> None:
    [add] = [protocol_tool(tool) for tool in await ApiTools(api).listed(VIEW) if tool.name == "sample_add"]

    assert (add.title, add.annotations and add.annotations.read_only_hint) == ("Add two numbers", True)
