"""One live connection to a server, by the SDK's client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import httpx2
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestParams,
    Implementation,
    InputRequest,
    LoggingMessageNotificationParams,
    SamplingCapability,
    SamplingToolsCapability,
)

from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.mcp.client_requests.clients import ClientAnswer
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.http_transport import SENT_HEADERS, HttpMessageLimits
from sandbox_server.mcp.servers.stdio_transport import StderrTail, stdio_transport

CONNECT_SECONDS = 10.0
CALL_SECONDS = 24 * 3600.0
"""For an answer over HTTP; what a call may take is the caller's and the configuration's to say."""


class ServerListener(Protocol):
    """Who hears what a server says by itself."""

    def notice(self, message: Any) -> None:
        """It notifies of something."""
        ...

    async def asked(self, request: InputRequest) -> ClientAnswer:
        """It asks whoever called."""
        ...

    async def logged(self, entry: LoggingMessageNotificationParams) -> None:
        """It logs."""
        ...


type Connect = Callable[[ServerConfig, asyncio.Event, StderrTail, ServerListener], AbstractAsyncContextManager[Client]]


type Wake = Callable[[], Awaitable[None]]
"""Lets the agent's processes go on, where they stand still."""
type Admit = Callable[[], Awaitable[None]]
"""Raises HeldByHuman while nothing may be asked of a server."""


async def awake() -> None:
    """Do nothing: nothing ever stands still, and nobody holds anything."""


def listener_options(listener: ServerListener) -> dict[str, Any]:
    """The options of an SDK client by which everything that a server says is heard.

    The client says with that that it can be asked. Roots are not among it: those of a client are folders of another machine.
    """

    async def on_message(message: Any) -> None:
        listener.notice(message)

    async def on_sampling(_: ClientRequestContext, params: CreateMessageRequestParams) -> Any:
        return await listener.asked(CreateMessageRequest(params=params))

    async def on_elicitation(_: ClientRequestContext, params: ElicitRequestParams) -> Any:
        return await listener.asked(ElicitRequest(params=params))

    return {
        "message_handler": on_message,
        "sampling_callback": on_sampling,
        "sampling_capabilities": SamplingCapability(tools=SamplingToolsCapability()),
        "elicitation_callback": on_elicitation,
        "logging_callback": listener.logged,
        "cache": None,
    }


def connector(processes: Processes, version: str) -> Connect:
    """How servers are connected to: their programs are started as the agent, in its box; URLs are reached from here."""
    about = Implementation(name="tandem", version=version)

    @asynccontextmanager
    async def connect(config: ServerConfig, ended: asyncio.Event, said: StderrTail, listener: ServerListener) -> AsyncIterator[Client]:
        if config.kind == "stdio":
            transport = stdio_transport(processes, config, ended, said)
            async with Client(transport, mode="legacy", client_info=about, **listener_options(listener)) as client:
                yield client
            return
        timeout = httpx2.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS)
        async with (
            httpx2.AsyncClient(headers={**SENT_HEADERS, **config.headers}, timeout=timeout, event_hooks=HttpMessageLimits().hooks) as http,
            Client(streamable_http_client(str(config.url), http_client=http), client_info=about, **listener_options(listener)) as client,
        ):
            yield client

    return connect
