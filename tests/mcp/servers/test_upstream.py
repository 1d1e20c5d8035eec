import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent, ToolsListChanged
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompletionArgument,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptReference,
    TextContent,
    Tool,
    ToolListChangedNotification,
)

from sandbox_server.core import Conflict
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import ServerListener, listener_options
from sandbox_server.mcp.servers.stdio_transport import StderrTail
from sandbox_server.mcp.servers.upstream import UpstreamServer
from tests.mcp import sample_server
from tests.mcp.conftest import InProcessConnector
from tests.mcp.fake_client import FakeClient
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def upstream(in_process: InProcessConnector) -> AsyncIterator[UpstreamServer]:
    """The sample as an upstream server."""
    made = UpstreamServer("sample", ServerConfig(command="sample"), in_process.connect, 0)
    yield made
    await made.close()


async def test_a_server_starts_once_on_first_use(upstream: UpstreamServer, in_process: InProcessConnector) -> None:
    assert (upstream.state, in_process.opened) == ("stopped", 0)

    names = await asyncio.gather(*(upstream.tools() for _ in range(3)))

    assert {tool.name for tool in names[0]} == {"echo", "sample_sum", "fail", "die", "wait", "ask", "think", "log", "change"}
    assert (upstream.state, in_process.opened) == ("running", 1)


async def test_what_a_tool_gives_is_passed_on(upstream: UpstreamServer) -> None:
    assert (await upstream.call("echo", {"text": "hello"}, PlainHttpClient())).structured_content == {"result": "hello"}
    failed = await upstream.call("fail", {}, PlainHttpClient())
    assert failed.is_error
    assert "fail" in str(failed.content)


async def test_progress_comes_through_and_cancelling_reaches_the_tool(upstream: UpstreamServer) -> None:
    client = FakeClient()
    call = asyncio.create_task(upstream.call("wait", {"mark": "unit"}, client))
    await eventually(lambda: client.progress)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually(lambda: "unit" in sample_server.cancelled)
    assert client.progress == [(1, 3, "one of three")]


async def test_tools_that_changed_are_asked_for_again(upstream: UpstreamServer) -> None:
    upstream.preset_tools([Tool(name="old", input_schema={"type": "object"})])
    assert [tool.name for tool in await upstream.tools()] == ["old"]

    upstream.on_notification(ToolListChangedNotification())

    assert "echo" in [tool.name for tool in await upstream.tools()]


async def test_tools_that_change_while_they_are_listed_are_asked_for_again() -> None:
    listing, let_go, asked = asyncio.Event(), asyncio.Event(), list[str]()

    async def list_tools(_: ServerRequestContext, __: PaginatedRequestParams | None) -> ListToolsResult:
        asked.append("old" if not asked else "new")
        found = ListToolsResult(tools=[Tool(name=asked[-1], input_schema={"type": "object"})])
        listing.set()
        await let_go.wait()
        return found

    @asynccontextmanager
    async def connect(_: ServerConfig, ended: asyncio.Event, said: StderrTail, listener: ServerListener) -> AsyncIterator[Client]:
        async with Client(Server("changing", on_list_tools=list_tools), **listener_options(listener)) as client:
            yield client

    upstream = UpstreamServer("changing", ServerConfig(command="x"), connect, 0)
    first = asyncio.create_task(upstream.tools())
    await listing.wait()
    upstream.on_notification(ToolListChangedNotification())
    let_go.set()
    assert [tool.name for tool in await first] == ["old"]
    assert [tool.name for _ in range(2) for tool in await upstream.tools()] == ["new", "new"]
    assert asked == ["old", "new"]
    await upstream.close()


async def test_resources_are_listed_and_read(upstream: UpstreamServer) -> None:
    assert [str(resource.uri) for resource in await upstream.resources()] == ["sample://note"]
    assert [template.uri_template for template in await upstream.templates()] == ["sample://note/{name}"]
    assert "note x" in str(await upstream.read("sample://note/x"))


async def test_a_refusal_of_the_server_is_passed_on(upstream: UpstreamServer) -> None:
    with pytest.raises(MCPError):
        await upstream.read("sample://nothing")


async def test_a_server_that_goes_away_during_a_call_is_no_invitation_to_repeat_it(in_process: InProcessConnector) -> None:
    upstream = UpstreamServer("sample", ServerConfig(command="sample"), in_process.connect, 0)
    call = asyncio.create_task(upstream.call("wait", {"mark": "gone"}, PlainHttpClient()))
    await eventually(lambda: upstream.state == "running")
    in_process.ended.set()

    with pytest.raises(Conflict, match="went away while wait ran"):
        await call
    await upstream.close()


async def test_what_a_server_asks_goes_to_who_called_and_what_it_logs_too(upstream: UpstreamServer) -> None:
    client = FakeClient(answer=ElicitResult(action="accept", content={"text": "blue"}))
    assert (await upstream.call("ask", {"question": "which?"}, client)).structured_content == {"result": "blue"}
    await upstream.call("log", {"level": "info", "text": "noted"}, client)

    [request] = client.asked
    assert isinstance(request, ElicitRequest)
    assert request.params.message == "The MCP server 'sample' asks: which?"
    await eventually(lambda: client.logged == ["noted"])


async def test_who_cannot_be_asked_is_told_so_by_the_tool(upstream: UpstreamServer) -> None:
    for tool, arguments in (("ask", {"question": "which?"}), ("think", {"about": "it"})):
        with pytest.raises(MCPError, match="cannot be asked"):
            await upstream.call(tool, arguments, PlainHttpClient())


async def test_a_question_is_withdrawn_with_its_call(upstream: UpstreamServer) -> None:
    client = FakeClient()
    call = asyncio.create_task(upstream.call("ask", {"question": "which?"}, client))
    await eventually(lambda: client.asked)
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert client.withdrawn == 1


async def test_prompts_are_listed_made_and_completed(upstream: UpstreamServer) -> None:
    assert [prompt.name for prompt in await upstream.prompts()] == ["greet"]
    made = await upstream.prompt("greet", {"name": "ann"}, PlainHttpClient())
    params = CompleteRequestParams(ref=PromptReference(name="greet"), argument=CompletionArgument(name="name", value="an"))

    assert "hello to ann" in str(made.messages)
    assert (await upstream.complete(params)).completion.values == ["ann", "anton"]


async def test_what_changes_is_told_and_resources_where_they_are_followed(in_process: InProcessConnector) -> None:
    told: list[ServerEvent] = []
    upstream = UpstreamServer("sample", ServerConfig(command="sample"), in_process.connect, 0, publish=told.append)
    await upstream.call("change", {"uri": "sample://note"}, PlainHttpClient())
    await eventually(lambda: len(told) == 3)
    await upstream.subscribe("sample://note")
    await upstream.subscribe("sample://note")
    assert sample_server.followed == ["sample://note"]
    await upstream.call("change", {"uri": "sample://note"}, PlainHttpClient())
    await eventually(lambda: len(told) == 7)
    await upstream.unsubscribe("sample://note")
    assert sample_server.followed == ["sample://note"]
    await upstream.unsubscribe("sample://note")

    assert sample_server.followed == []
    assert set(told) == {ToolsListChanged(), PromptsListChanged(), ResourcesListChanged(), ResourceUpdated("sample://note")}
    await upstream.close()


async def test_a_server_that_is_asked_for_more_by_its_result_gets_it() -> None:
    """One of protocol 2026-07-28, which asks so."""

    async def call_tool(context: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        answer = (params.input_responses or {}).get("colour")
        if isinstance(answer, ElicitResult):
            return CallToolResult(content=[TextContent(text=f"{params.request_state}: {answer.action}")])
        form = ElicitRequestFormParams(message="which?", requested_schema={"type": "object", "properties": {}})
        return InputRequiredResult(input_requests={"colour": ElicitRequest(params=form)}, request_state="s1")

    @asynccontextmanager
    async def connect(_: ServerConfig, ended: asyncio.Event, said: StderrTail, listener: ServerListener) -> AsyncIterator[Client]:
        async with Client(Server("modern", on_call_tool=call_tool), **listener_options(listener)) as client:
            yield client

    upstream = UpstreamServer("modern", ServerConfig(command="x"), connect, 0)
    answer = await upstream.call("paint", {}, FakeClient(answer=ElicitResult(action="decline")))
    with pytest.raises(MCPError, match="cannot be asked"):
        await upstream.call("paint", {}, PlainHttpClient())

    assert str(answer.content[0].text) == "s1: decline"  # type: ignore[union-attr]
    await upstream.close()
