"""WebSockets to other processes of this server, over their Unix sockets."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


@asynccontextmanager
async def websocket(socket: str, uri: str, headers: Mapping[str, str]) -> "AsyncIterator[ClientConnection]":
    """Connect, for as long as the context; raises OSError, TimeoutError and WebSocketException.

    Who is cancelled cuts the connection, and waits for no answer to its close: a second cancellation would leave it open.
    """
    from websockets.asyncio.client import unix_connect

    async with unix_connect(socket, uri, additional_headers=headers, compression=None) as connection:
        try:
            yield connection
        except asyncio.CancelledError:
            connection.transport.abort()
            raise
