"""One server behind the hub: what is asked of it, and what it asks and tells."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
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
from sandbox_server.mcp.client_requests.clients import CallingClient, ClientAnswer, attributed
from sandbox_server.mcp.client_requests.correlation import RunningCalls
from sandbox_server.mcp.message_limits import in_short
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import Admit, Connect, Wake, awake
from sandbox_server.mcp.servers.lifecycle import ServerLifecycle, State
from sandbox_server.mcp.servers.pagination import callable_of, every_page

ANSWER_SECONDS = 30.0
"""For a list."""
READ_SECONDS = 300.0
"""For one of its resources."""
MAX_UNTOLD = 64
"""Log messages and reports of progress that wait for the client that called; more of them are dropped."""
MAX_ROUNDS = 20
"""How often one call may be asked for more; each time it is a client that answers."""

_CALLED: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)
_PROMPTED: TypeAdapter[GetPromptResult | InputRequiredResult] = TypeAdapter(GetPromptResult | InputRequiredResult)


class UpstreamServer:
    """One server, by its name. Close it when it is no longer wanted.

    Its tools are asked for once, and again when it says that they have changed or when it had to be started anew.
    """

    def __init__(
        self,
        name: str,
        config: ServerConfig,
        connect: Connect,
        idle_seconds: float,
        wake: Wake = awake,
        tell: Callable[[ServerEvent], None] = lambda _: None,
        admit: Admit = awake,
    ) -> None:
        self.name = name
        self.config = config
        self._lifecycle = ServerLifecycle(name, config, connect, idle_seconds, wake, self, admit)
        self._tell = tell
        self._calls = RunningCalls()
        self._followed: Counter[str] = Counter()
        self._tools: list[Tool] | None = None
        self._missed = False
        self._listing = asyncio.Lock()
        self._untold = 0

    @property
    def state(self) -> State:
        """What it does."""
        return self._lifecycle.state

    @property
    def reason(self) -> str:
        """Why it does not work, where it does not."""
        return self._lifecycle.reason

    @property
    def known_tools(self) -> list[Tool] | None:
        """Its tools as they were last told."""
        return self._tools

    def remember(self, tools: list[Tool]) -> None:
        """Take it that it has these tools, until it is asked."""
        self._tools = tools

    async def tools(self) -> list[Tool]:
        """Its tools, of those that are let through. Raises Unavailable."""
        async with self._listing:
            if self._tools is None:
                found = await self._answer("tools", lambda client, cursor: client.list_tools(cursor=cursor))
                self._tools = callable_of(found, self.name)
                if self._missed:
                    self._missed = False
                    self._tell(ToolsListChanged())
            return self._tools

    def missed(self) -> None:
        """Note that a list was made without what it has: who got that list is told when it is there."""
        self._missed = True

    async def prompts(self) -> list[Prompt]:
        """Its prompts, none where it has none to give. Raises Unavailable."""
        found = await self._optional("prompts", lambda client, cursor: client.list_prompts(cursor=cursor))
        return callable_of(found, self.name)

    async def resources(self) -> list[Resource]:
        """Its resources, none where it has none to give. Raises Unavailable."""
        return await self._optional("resources", lambda client, cursor: client.list_resources(cursor=cursor))

    async def templates(self) -> list[ResourceTemplate]:
        """Its resource templates. Raises Unavailable."""
        return await self._optional("resource_templates", lambda client, cursor: client.list_resource_templates(cursor=cursor), "resources")

    async def read(self, uri: str) -> ReadResourceResult:
        """Read one of its resources. Raises MCPError as it says, and Unavailable."""
        async with self._lifecycle.client() as client, self._answering(READ_SECONDS, "answer"):
            return await client.read_resource(uri)

    async def follow(self, uri: str) -> None:
        """Have it tell when a resource changes, until `unfollow` was called as often.

        Raises MCPError where it does not do that, and Unavailable.
        """
        async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, "answer"):
            able = client.server_capabilities.resources
            if able is None or not able.subscribe or client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                raise MCPError(METHOD_NOT_FOUND, f"the MCP server {self.name!r} does not tell when its resources change")
            self._followed[uri] += 1
            if self._followed[uri] == 1:
                await _subscribe(client, uri)

    async def unfollow(self, uri: str) -> None:
        """Have it tell no more, when nobody else follows. What it says to that is of no account."""
        self._followed -= Counter({uri: 1})
        if not self._followed[uri] and self.state == "running":
            with suppress(MCPError, Failure):
                async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, "answer"):
                    await client.session.send_request(UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri)), EmptyResult)

    async def complete(self, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt or an address; nothing where it does not do that. Raises MCPError and Unavailable."""
        async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, "answer"):
            if client.server_capabilities.completions is None:
                return CompleteResult(completion=Completion(values=[]))
            asked = params.model_copy(update={"meta": None})  # what stands there is of the other connection
            return await client.session.send_request(CompleteRequest(params=asked), CompleteResult)

    async def prompt(self, name: str, arguments: dict[str, str] | None, calling_client: CallingClient) -> GetPromptResult:
        """Make one of its prompts. Raises as `call` does."""

        def request(answers: InputResponses | None, state: str | None) -> GetPromptRequest:
            given = GetPromptRequestParams(name=name, arguments=arguments, input_responses=answers, request_state=state)
            return GetPromptRequest(params=given)

        return await self._ask(name, request, _PROMPTED, calling_client)

    async def call(self, tool: str, arguments: dict[str, Any], calling_client: CallingClient) -> CallToolResult:
        """Call a tool; cancelling this cancels the call there. What the server asks meanwhile, and its progress, go to `asker`.

        Raises Unavailable where nothing was done, Conflict where the server went away meanwhile, and MCPError as it says.
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
        """Send a request, and again with what its server asks for, until there is a result."""
        async with self._lifecycle.client() as client, self._calls.running(calling_client):
            answers: InputResponses | None = None
            state: str | None = None
            for _ in range(MAX_ROUNDS):
                found = await self._sent(client, what, request(answers, state), result, calling_client)
                if not isinstance(found, InputRequiredResult):
                    return found
                answers = {key: await self._answered(calling_client, asked) for key, asked in (found.input_requests or {}).items()}
                state = found.request_state
            raise Conflict(f"the MCP server {self.name!r} asked {MAX_ROUNDS} times for {what} and had no result", name=self.name)

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
            self._lifecycle.hang_up()
            reason = in_short(error.message)
            raise Conflict(f"the MCP server {self.name!r} went away while {what} ran: {reason}", name=self.name) from error

    async def close(self) -> None:
        """End it."""
        await self._lifecycle.close()

    async def _optional(self, kind: str, ask: Callable[[Client, str | None], Awaitable[Any]], capability: str = "") -> list[Any]:
        async with self._lifecycle.client() as client:
            if getattr(client.server_capabilities, capability or kind) is None:
                return []
        return await self._answer(kind, ask)

    async def _answer(self, kind: str, ask: Callable[[Client, str | None], Awaitable[Any]]) -> list[Any]:
        """Every page of a list."""
        async with self._lifecycle.client() as client, self._answering(ANSWER_SECONDS, f"list its {kind}"):
            return await every_page(lambda cursor: ask(client, cursor), kind)

    @asynccontextmanager
    async def _answering(self, seconds: float, what: str) -> AsyncIterator[None]:
        """Bound the wait for an answer, which may be one that nobody can read. Raises Unavailable."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except (TimeoutError, ValueError) as error:
            reason = in_short(error) or f"nothing came within {seconds:g} s"
            raise Unavailable(f"the MCP server {self.name!r} does not {what}: {reason}", name=self.name) from error
        except MCPError as error:
            if what == "answer":
                raise
            raise Unavailable(f"the MCP server {self.name!r} does not {what}: {in_short(error)}", name=self.name) from error

    def notice(self, message: Any) -> None:
        """Pass on what changes here."""
        match message:
            case ToolListChangedNotification():
                self._tools = None
                self._tell(ToolsListChanged())
            case PromptListChangedNotification():
                self._tell(PromptsListChanged())
            case ResourceListChangedNotification():
                self._tell(ResourcesListChanged())
            case ResourceUpdatedNotification(params=params) if params.uri in self._followed:
                self._tell(ResourceUpdated(params.uri))

    def needs_it(self) -> bool:
        """Who follows a resource waits for what it tells."""
        return bool(self._followed)

    async def came(self, client: Client) -> None:
        """Have it tell what is followed."""
        for uri in list(self._followed):
            with suppress(MCPError):  # it has that one no more
                await _subscribe(client, uri)

    def failed(self) -> None:
        """Know its tools no more: it may be started as another version."""
        if self._tools:
            self._tell(ToolsListChanged())
        self._tools = None

    async def asked(self, request: InputRequest) -> ClientAnswer:
        """Ask whoever called."""
        return await self._calls.ask(attributed(self.name, request))

    async def logged(self, entry: LoggingMessageNotificationParams) -> None:
        """Pass it on to whoever called."""
        await self._told(self._calls.log(entry))

    async def _report(self, calling_client: CallingClient, progress: float, total: float | None = None, message: str | None = None) -> None:
        await self._told(calling_client.report(progress, total, message))

    async def _told(self, telling: Coroutine[Any, Any, None]) -> None:
        """Tell a client something, unless it has not taken what it was told before."""
        if self._untold >= MAX_UNTOLD:
            telling.close()
            return
        self._untold += 1
        try:
            await telling
        finally:
            self._untold -= 1

    async def _answered(self, calling_client: CallingClient, request: InputRequest) -> InputResponse:
        answer = await calling_client.ask(attributed(self.name, request))
        if isinstance(answer, ErrorData):
            raise MCPError.from_error_data(answer)
        return answer


async def _subscribe(client: Client, uri: str) -> None:
    await client.session.send_request(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult)
