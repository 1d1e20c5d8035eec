"""Requests and notifications of upstream servers, as real clients of both protocol generations see them over HTTP."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from sandbox_server.mcp.app import McpParts, create_mcp_app
from tests.mcp import sample_server
from tests.mcp.conftest import InProcessConnector, servers_of
from tests.mcp.sdk_clients import ERAS, Person, client_of
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

CALLER = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "view code files"}


@pytest.fixture(scope="module")
def url(api_socket: str, serving: Callable[..., Any]) -> Iterator[str]:
    """An MCP process with the sample server."""
    with serving(create_mcp_app(api_socket, McpParts(*servers_of(InProcessConnector().connect, sample={"command": "x"})), "1")) as served:
        yield served


@pytest.mark.parametrize("era", ERAS)
async def test_the_user_and_the_model_of_who_called_are_asked(url: str, era: str) -> None:
    person = Person()
    async with client_of(url, era, CALLER, **person.able) as client:
        answer = await client.call_tool("sample_ask", {"question": "which?"})
        thought = await client.call_tool("sample_think", {"about": "it"})

    assert (answer.structured_content, thought.structured_content) == ({"result": "blue"}, {"result": "thought of it"})
    assert person.asked == ["The MCP server 'sample' asks: which?"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_cannot_be_asked_is_told_what_it_lacks(url: str, era: str) -> None:
    async with client_of(url, era, CALLER) as client:
        for tool, arguments, lack in (("ask", {"question": "?"}, "elicitation"), ("think", {"about": "?"}, "sampling")):
            with pytest.raises(MCPError, match=f"does not support {lack}"):
                await client.call_tool(f"sample_{tool}", arguments)


async def test_a_client_without_a_session_is_told_that_it_cannot_be_asked(url: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sample_ask", "arguments": {"question": "?"}}}
    async with httpx2.AsyncClient(base_url=url, headers=CALLER, timeout=PATIENCE_SECONDS) as http:
        answer = (await http.post("/mcp", json=call)).json()

    assert "does not support elicitation" in answer["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
async def test_logs_come_with_the_call_from_the_level_on_that_is_wanted(url: str, era: str) -> None:
    person = Person()
    async with client_of(url, era, CALLER, **person.able) as client:
        if era == "legacy":
            await client.set_logging_level("info")
        for level in ("debug", "info", "error"):
            await client.call_tool("sample_log", {"level": level, "text": level})
        await eventually(lambda: "error" in person.logged)

    assert person.logged == ["info", "error"]


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_are_listed_made_and_completed(url: str, era: str) -> None:
    async with client_of(url, era, CALLER) as client:
        [prompt] = (await client.list_prompts()).prompts
        made = await client.get_prompt(prompt.name, {"name": "ann"})
        completed = await client.complete(PromptReference(name=prompt.name), {"name": "name", "value": "b"})
        with pytest.raises(MCPError, match="Unknown prompt: sample_nothing"):
            await client.get_prompt("sample_nothing")

    assert prompt.name == "sample_greet"
    assert "hello to ann" in str(made.messages)
    assert completed.completion.values == ["bob"]


async def test_a_token_for_certain_tools_sees_no_prompts(url: str) -> None:
    async with client_of(url, "legacy", CALLER | {"X-Sandbox-Tools": "sample_echo"}) as client:
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="no server tells"):
            await client.subscribe_resource("sample://note")


async def test_a_session_is_told_what_changes_and_of_resources_those_that_it_follows(url: str) -> None:
    person = Person()
    async with client_of(url, "legacy", CALLER, **person.deaf) as client:
        assert client.server_capabilities.tools.list_changed  # type: ignore[union-attr]
        await changed_until(client, lambda: len(set(person.noticed)) == 3)
        assert "notifications/resources/updated" not in person.noticed
        await client.subscribe_resource("sample://note")
        await changed_until(client, lambda: "notifications/resources/updated" in person.noticed)
        await client.unsubscribe_resource("sample://note")
        assert sample_server.followed == []
        await client.subscribe_resource("sample://note")
        with pytest.raises(MCPError, match="no server tells when this resource changes: sample:/nothing"):
            await client.subscribe_resource("sample:/nothing")

    await eventually(lambda: sample_server.followed == [])  # what a session followed ends with it


async def changed_until(client: Any, seen: Callable[[], bool]) -> None:
    """Have the sample tell of changes until the client has heard of them: its event stream may not be open yet."""

    async def tried() -> bool:
        await client.call_tool("sample_change", {"uri": "sample://note"})
        await asyncio.sleep(0)
        return seen()

    await eventually(tried)


async def test_who_listens_is_told_what_it_asked_for(url: str) -> None:
    heard: set[str] = set()
    async with (
        client_of(url, "2026-07-28", CALLER) as client,
        client.listen(tools_list_changed=True, resource_subscriptions=["sample://note"]) as listening,
    ):
        assert sample_server.followed == ["sample://note"]
        await client.call_tool("sample_change", {"uri": "sample://note"})
        async with asyncio.timeout(30):
            async for event in listening:
                heard.add(type(event).__name__)
                if len(heard) == 2:
                    break

    assert heard == {"ToolsListChanged", "ResourceUpdated"}
    await eventually(lambda: sample_server.followed == [])


async def test_a_client_that_reads_no_events_cannot_listen(url: str) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": meta}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "Accept": "application/json"}
    async with httpx2.AsyncClient(base_url=url, headers=CALLER, timeout=PATIENCE_SECONDS) as http:
        assert (await http.post("/mcp", json=body, headers=headers)).status_code == 406


async def test_a_call_that_asked_is_gone_for_another_caller(url: str) -> None:
    person = Person()
    async with client_of(url, "2026-07-28", CALLER, **person.able) as client:
        asked: Any = await client.session.call_tool("sample_ask", {"question": "?"}, allow_input_required=True)
    async with client_of(url, "2026-07-28", CALLER | {"X-Sandbox-Caller": "other"}, **person.able) as client:
        with pytest.raises(MCPError, match="does not wait for an answer any more"):
            await client.session.call_tool("sample_ask", {"question": "?"}, request_state=asked.request_state)
