"""Prompts under the names that they have here; over HTTP they are in test_askers."""

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CompleteRequestParams, CompletionArgument, GetPromptRequestParams, ResourceTemplateReference

from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.routing.prompts import PromptRouter
from tests.mcp.conftest import InProcessConnector, servers_of
from tests.mcp.contexts import Requested

pytestmark = pytest.mark.anyio

CODE: Any = Requested(version="2025-11-25", x_sandbox_scopes="code")


async def test_names_begin_with_their_servers_prefix_once_and_scopes_decide(in_process: InProcessConnector) -> None:
    _, servers = servers_of(
        in_process.connect, one={"command": "x"}, two={"command": "x", "prefix": "gr"}, other={"command": "x", "scope": "admin"}
    )
    prompts = PromptRouter(servers, InteractiveCalls(LogLevels()))
    async with servers.open():
        found = await prompts.list_prompts(CODE, None)
        made = await prompts.get(CODE, GetPromptRequestParams(name="one_greet", arguments={"name": "bob"}))
        with pytest.raises(MCPError, match="Unknown prompt: other_greet"):
            await prompts.get(CODE, GetPromptRequestParams(name="other_greet"))

    assert [prompt.name for prompt in found.prompts] == ["one_greet", "greet"]
    assert "hello to bob" in str(made)


async def test_addresses_are_completed_by_the_server_whose_shape_it_is(in_process: InProcessConnector) -> None:
    _, servers = servers_of(in_process.connect, one={"command": "x"})
    prompts = PromptRouter(servers, InteractiveCalls(LogLevels()))

    async def completed(uri: str) -> list[str]:
        argument = CompletionArgument(name="name", value="b")
        return (
            await prompts.complete(CODE, CompleteRequestParams(ref=ResourceTemplateReference(uri=uri), argument=argument))
        ).completion.values

    async with servers.open():
        assert await completed("sample://note/{name}") == ["bob"]
        assert await completed("sample://nothing/{name}") == []
