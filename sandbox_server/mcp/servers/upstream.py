"""One upstream server: requests to it, and its requests and notifications to clients."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent, ToolsListChanged
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequest,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    ErrorData,
    GetPromptRequest,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    InputResponses,
    LoggingMessageNotificationParams,
    Prompt,
    PromptListChangedNotification,
    ReadResourceResult,
    Resource,
    ResourceListChangedNotification,
    ResourceTemplate,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    Tool,
    ToolListChangedNotification,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter

from sandbox_server.core.errors import Conflict, Failure, Unavailable
from sandbox_server.mcp.client_requests.capabilities import ClientAnswer, attributed_to
from sandbox_server.mcp.client_requests.clients import CallingClient
from sandbox_server.mcp.client_requests.correlation import RunningCalls
from sandbox_server.mcp.message_limits import shorten
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import Admit, Connect, Wake, awake
from sandbox_server.mcp.servers.delivery import BoundedDelivery
from sandbox_server.mcp.servers.lifecycle import ServerLifecycle, State
from sandbox_server.mcp.servers.pagination import every_page, with_valid_names
from sandbox_server.mcp.servers.tool_approval import ApproveTool, approved

ANSWER_SECONDS = 30.0
"""For a list."""
READ_SECONDS = 300.0
"""For one of its resources."""
MAX_ROUND_TRIPS = 20
"""How often one call may return requests instead of a result."""

_CALLED: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)
_PROMPTED: TypeAdapter[GetPromptResult | InputRequiredResult] = TypeAdapter(GetPromptResult | InputRequiredResult)


class UpstreamServer:
    """Sends requests to one server and forwards its messages. Close it to end the server.

    The tool list is cached until the server reports a change or fails.
    """

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        connect: Connect,
        idle_seconds: float,
        wake: Wake = awake,
        publish: Callable[[ServerEvent], None] = lambda _: None,
        admit: Admit = awake,
        approve: ApproveTool = approved,
    ) -> None:
        self.name = name
        self.config = config
        self.approve = approve
        """Is asked before each call of a tool."""
        self._lifecycle = ServerLifecycle(name, config, connect, idle_seconds, wake, self, admit)
        self._publish = publish
        self._calls = RunningCalls()
        self._subscriptions: Counter[str] = Counter()
        self._tools: list[Tool] | None = None
        self._changes = 0
        """How often the cached tools were dropped."""
        self._is_incomplete = False
        self._listing = asyncio.Lock()
        self._delivery = BoundedDelivery()

    @property
    def state(self) -> State:
        """The server's state."""
        return self._lifecycle.state

    @property
    def reason(self) -> str:
        """Why the server failed; empty while it works."""
        return self._lifecycle.reason

    @property
    def known_tools(self) -> list[Tool] | None:
        """The cached tools; None if there are none yet."""
        return self._tools

    def preset_tools(self, tools: list[Tool]) -> None:
        """Use these tools until the server is asked."""
        self._tools = tools

    async def tools(self) -> list[Tool]:
        """List its tools. A list during which they changed is not kept: the next one asks again. Raises Unavailable."""
        async with self._listing:
            if self._tools is not None:
                return self._tools
            before = self._changes
            found = await self._answer("tools", lambda client, cursor: client.list_tools(cursor=cursor))
            tools = with_valid_names(found, self.name)
            if self._changes == before:
                self._tools = tools
            if self._is_incomplete:
                self._is_incomplete = False
                self._publish(ToolsListChanged())
            return tools

    def mark_incomplete(self) -> None:
        """Record that a list was sent without this server's tools, so that clients are notified once they are known."""
        self._is_incomplete = True

    async def prompts(self) -> list[Prompt]:
        """List its prompts; none if it does not support prompts. Raises Unavailable."""
        found = await self._optional("prompts", lambda client, cursor: client.list_prompts(cursor=cursor))
        return with_valid_names(found, self.name)

    async def resources(self) -> list[Resource]:
        """List its resources; none if it does not support resources. Raises Unavailable."""
        return await self._optional("resources", lambda client, cursor: client.list_resources(cursor=cursor))

    async def templates(self) -> list[ResourceTemplate]:
        """List its resource templates. Raises Unavailable."""
        return await self._optional("resource_templates", lambda client, cursor: client.list_resource_templates(cursor=cursor), "resources")

    async def read(self, uri: str) -> ReadResourceResult:
        """Read one of its resources. Raises the server's MCPError, and Unavailable."""
        async with self._lifecycle.client() as client, self._answering(READ_SECONDS, "answer"):
            return await client.read_resource(uri)

    async def subscribe(self, uri: str) -> None:
        """Subscribe to a resource, until `unsubscribe` was called as often.

        Raises MCPError if the server does not support subscriptions, and Unavailable.
        """
        async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, "answer"):
            able = client.server_capabilities.resources
            if able is None or not able.subscribe or client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                raise MCPError(METHOD_NOT_FOUND, f"the MCP server {self.name!r} does not support resource subscriptions")
            self._subscriptions[uri] += 1
            if self._subscriptions[uri] == 1:
                await _subscribe(client, uri)

    async def unsubscribe(self, uri: str) -> None:
        """Remove one subscription; the last one unsubscribes at the server, whose answer is ignored."""
        self._subscriptions -= Counter({uri: 1})
        if not self._subscriptions[uri] and self.state == "running":
            with suppress(MCPError, Failure):
                async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, "answer"):
                    await client.session.send_request(UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri)), EmptyResult)

    async def complete(self, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt or URI template; empty if the server does not support it. Raises MCPError and Unavailable."""
        async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, "answer"):
            if client.server_capabilities.completions is None:
                return CompleteResult(completion=Completion(values=[]))
            on_request = params.model_copy(update={"meta": None})  # it belongs to the client's connection
            return await client.session.send_request(CompleteRequest(params=on_request), CompleteResult)

    async def prompt(self, name: str, arguments: dict[str, str] | None, calling_client: CallingClient) -> GetPromptResult:
        """Get one of its prompts. Raises as `call` does."""

        def request(answers: InputResponses | None, state: str | None) -> GetPromptRequest:
            given = GetPromptRequestParams(name=name, arguments=arguments, input_responses=answers, request_state=state)
            return GetPromptRequest(params=given)

        return await self._ask(name, request, _PROMPTED, calling_client)

    async def call(self, tool: str, arguments: dict[str, Any], calling_client: CallingClient) -> CallToolResult:
        """Call a tool. Cancelling this cancels the call at the server; its requests and progress go to `calling_client`.

        Raises Unavailable if nothing was sent, Conflict if the server ended during the call, and the server's MCPError.
        """

        def request(answers: InputResponses | None, state: str | None) -> CallToolRequest:
            given = CallToolRequestParams(name=tool, arguments=arguments, input_responses=answers, request_state=state)
            return CallToolRequest(params=given)

        return await self._ask(tool, request, _CALLED, calling_client)

    async def _ask[R: BaseModel](
        self,
        what: str,
        request: Callable[[InputResponses | None, str | None], CallToolRequest | GetPromptRequest],
        result: TypeAdapter[R | InputRequiredResult],
        calling_client: CallingClient,
    ) -> R:
        """Send a request, and repeat it with the answers that the server asks for, until there is a result."""
        async with self._lifecycle.client() as client, self._calls.running(calling_client):
            answers: InputResponses | None = None
            state: str | None = None
            for _ in range(MAX_ROUND_TRIPS):
                found = await self._sent(client, what, request(answers, state), result, calling_client)
                if not isinstance(found, InputRequiredResult):
                    return found
                answers = {
                    key: await self._client_answer(calling_client, on_request) for key, on_request in (found.input_requests or {}).items()
                }
                state = found.request_state
            raise Conflict(f"the MCP server {self.name!r} sent requests {MAX_ROUND_TRIPS} times for {what} and no result", name=self.name)

    async def _sent[R: BaseModel](
        self, client: Client, what: str, request: Any, result: TypeAdapter[R | InputRequiredResult], calling_client: CallingClient
    ) -> R | InputRequiredResult:
        try:
            return await client.session.send_request(
                request, result, request_read_timeout_seconds=self.config.timeout, progress_callback=partial(self._report, calling_client)
            )
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            self._lifecycle.mark_closed()
            reason = shorten(error.message)
            raise Conflict(f"the MCP server {self.name!r} went away while {what} ran: {reason}", name=self.name) from error

    async def close(self) -> None:
        """Stop the server."""
        await self._lifecycle.close()

    async def _optional(self, kind: str, ask: Callable[[Client, str | None], Awaitable[Any]], capability: str = "") -> list[Any]:
        async with self._lifecycle.client() as client:
            if getattr(client.server_capabilities, capability or kind) is None:
                return []
        return await self._answer(kind, ask)

    async def _answer(self, kind: str, ask: Callable[[Client, str | None], Awaitable[Any]]) -> list[Any]:
        """List every page."""
        async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, f"list its {kind}"):
            return await every_page(lambda cursor: ask(client, cursor), kind)

    @asynccontextmanager
    async def _answering(self, seconds: float, what: str) -> AsyncIterator[None]:
        """Limit the wait for an answer. Raises Unavailable for none in time, or an invalid one."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except (TimeoutError, ValueError) as error:
            reason = shorten(error) or f"nothing came within {seconds:g} s"
            raise Unavailable(f"the MCP server {self.name!r} does not {what}: {reason}", name=self.name) from error
        except MCPError as error:
            if what == "answer":
                raise
            raise Unavailable(f"the MCP server {self.name!r} does not {what}: {shorten(error)}", name=self.name) from error

    def on_notification(self, message: Any) -> None:
        """Forward a change notification."""
        match message:
            case ToolListChangedNotification():
                self._drop_tools()
                self._publish(ToolsListChanged())
            case PromptListChangedNotification():
                self._publish(PromptsListChanged())
            case ResourceListChangedNotification():
                self._publish(ResourcesListChanged())
            case ResourceUpdatedNotification(params=params) if params.uri in self._subscriptions:
                self._publish(ResourceUpdated(params.uri))

    def must_stay(self) -> bool:
        """Whether a client subscribes to a resource."""
        return bool(self._subscriptions)

    async def on_start(self, client: Client) -> None:
        """Renew the subscriptions."""
        for uri in list(self._subscriptions):
            with suppress(MCPError):  # the resource is gone
                await _subscribe(client, uri)

    def on_failure(self) -> None:
        """Drop the cached tools: the next start may be another version."""
        if self._tools:
            self._publish(ToolsListChanged())
        self._drop_tools()

    def _drop_tools(self) -> None:
        """Have the next list ask the server, whatever one that goes on finds."""
        self._tools = None
        self._changes += 1

    async def on_request(self, request: InputRequest) -> ClientAnswer:
        """Forward a request to the calling client."""
        return await self._calls.ask(attributed_to(self.name, request))

    async def on_log(self, entry: LoggingMessageNotificationParams) -> None:
        """Forward a log message to the calling client."""
        await self._delivery.deliver(self._calls.log(entry))

    async def _report(self, calling_client: CallingClient, progress: float, total: float | None = None, message: str | None = None) -> None:
        await self._delivery.deliver(calling_client.report(progress, total, message))

    async def _client_answer(self, calling_client: CallingClient, request: InputRequest) -> InputResponse:
        answer = await calling_client.ask(attributed_to(self.name, request))
        if isinstance(answer, ErrorData):
            raise MCPError.from_error_data(answer)
        return answer


async def _subscribe(client: Client, uri: str) -> None:
    await client.session.send_request(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult)
