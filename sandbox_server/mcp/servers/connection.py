"""Connects the SDK's client to an upstream server, over stdio or HTTP."""

import asyncio
import ssl
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

from sandbox_server.drivers.clients.agent_network import AgentNetwork
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.mcp.client_requests.capabilities import ClientAnswer
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.http_transport import SENT_HEADERS, HttpMessageLimits
from sandbox_server.mcp.servers.stdio_transport import StderrTail, stdio_transport

CONNECT_SECONDS = 10.0
CALL_SECONDS = 24 * 3600.0
"""Of one HTTP response; the caller and the configuration limit a call."""


class ServerListener(Protocol):
    """Receives the messages that a server sends on its own."""

    def on_notification(self, message: Any) -> None:
        """Handle a notification."""
        ...

    async def on_request(self, request: InputRequest) -> ClientAnswer:
        """Answer a request to the calling client."""
        ...

    async def on_log(self, entry: LoggingMessageNotificationParams) -> None:
        """Handle a log message."""
        ...


type Connect = Callable[[ServerConfig, asyncio.Event, StderrTail, ServerListener], AbstractAsyncContextManager[Client]]


type Wake = Callable[[], Awaitable[None]]
"""Resumes a suspended box."""
type Admit = Callable[[], Awaitable[None]]
"""Raises HeldByHuman while no request may be sent to a server."""


async def awake() -> None:
    """Do nothing: there is no box to resume and no lease to check."""


def listener_options(listener: ServerListener) -> dict[str, Any]:
    """The options of an SDK client that pass every message of a server to a listener.

    They declare sampling and elicitation. Roots are not declared: a client's roots are folders of another machine.
    """

    async def on_message(message: Any) -> None:
        listener.on_notification(message)

    async def on_sampling(_: ClientRequestContext, params: CreateMessageRequestParams) -> Any:
        return await listener.on_request(CreateMessageRequest(params=params))

    async def on_elicitation(_: ClientRequestContext, params: ElicitRequestParams) -> Any:
        return await listener.on_request(ElicitRequest(params=params))

    return {
        "message_handler": on_message,
        "sampling_callback": on_sampling,
        "sampling_capabilities": SamplingCapability(tools=SamplingToolsCapability()),
        "elicitation_callback": on_elicitation,
        "logging_callback": listener.on_log,
        "cache": None,
    }


def connector(processes: Processes, version: str, network: AgentNetwork | None = None) -> Connect:
    """Make the function that connects to servers: it starts programs as the agent in its box, and opens URLs from this process.

    With `network`, the box has a network of its own, and URLs are reached as a program in the box would reach them.
    """
    about = Implementation(name="tandem", version=version)

    @asynccontextmanager
    async def connect(config: ServerConfig, ended: asyncio.Event, stderr: StderrTail, listener: ServerListener) -> AsyncIterator[Client]:
        if config.kind == "stdio":
            transport = stdio_transport(processes, config, ended, stderr)
            async with Client(transport, mode="legacy", client_info=about, **listener_options(listener)) as client:
                yield client
            return
        timeout = httpx2.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS)
        given: dict[str, Any] = {
            "headers": {**SENT_HEADERS, **config.headers},
            "event_hooks": HttpMessageLimits().hooks,
            "timeout": timeout,
        }
        if network:
            given |= {"transport": network.transport(ssl.create_default_context()), "trust_env": False}
        async with (
            httpx2.AsyncClient(**given) as http,
            Client(streamable_http_client(str(config.url), http_client=http), client_info=about, **listener_options(listener)) as client,
        ):
            yield client

    return connect
