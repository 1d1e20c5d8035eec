"""One live connection to a server, by the SDK's client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from sandbox_server.drivers.process import Processes
from sandbox_server.hub.configuration import ServerConfig
from sandbox_server.hub.streams import Said, standard_streams

CONNECT_SECONDS = 10.0
CALL_SECONDS = 24 * 3600.0
"""For an answer over HTTP; what a call may take is the caller's and the configuration's to say."""

type Notice = Callable[[Any], None]
"""Is told what a server notifies of."""
type Connect = Callable[[ServerConfig, asyncio.Event, Said, Notice], AbstractAsyncContextManager[Client]]


type Wake = Callable[[], Awaitable[None]]
"""Lets the agent's processes go on, where they stand still."""


async def awake() -> None:
    """Do nothing: nothing ever stands still."""


def connecting(processes: Processes, version: str) -> Connect:
    """How servers are connected to: their programs are started as the agent, in its box; URLs are reached from here."""
    about = Implementation(name="tandem", version=version)

    @asynccontextmanager
    async def connect(config: ServerConfig, ended: asyncio.Event, said: Said, notice: Notice) -> AsyncIterator[Client]:
        async def on_message(message: Any) -> None:
            notice(message)

        if config.kind == "stdio":
            transport = standard_streams(processes, config, ended, said)
            async with Client(transport, mode="legacy", client_info=about, message_handler=on_message, cache=None) as client:
                yield client
            return
        timeout = httpx2.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS)
        async with (
            httpx2.AsyncClient(headers=config.headers, timeout=timeout) as http,
            Client(
                streamable_http_client(str(config.url), http_client=http), client_info=about, message_handler=on_message, cache=None
            ) as client,
        ):
            yield client

    return connect
