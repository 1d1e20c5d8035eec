"""A WebSocket to another process of the server."""

import asyncio
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve

from sandbox_server.drivers.ipc.websocket_client import websocket

pytestmark = pytest.mark.anyio

CLOSE_SECONDS = 10.0
"""How long a WebSocket waits for the answer to its close."""


async def test_what_is_said_arrives_with_the_headers(tmp_path: Path) -> None:
    async def echo(connection: ServerConnection) -> None:
        assert connection.request
        await connection.send(connection.request.headers["X-Name"])

    path = str(tmp_path / "echo.sock")
    async with unix_serve(echo, path), websocket(path, "ws://server/", {"X-Name": "ann"}) as connection:
        assert await connection.recv() == "ann"


async def test_who_is_cancelled_waits_for_no_answer_of_a_server_that_stalls(tmp_path: Path) -> None:
    accepted: asyncio.Future[ServerConnection] = asyncio.get_running_loop().create_future()
    connected = asyncio.Event()

    async def stall(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        accepted.set_result(connection)
        await connection.wait_closed()

    async def follow(path: str) -> None:
        async with websocket(path, "ws://server/", {}) as connection:
            connected.set()
            await connection.recv()

    path = str(tmp_path / "stall.sock")
    async with unix_serve(stall, path):
        following = asyncio.ensure_future(follow(path))
        server = await accepted
        await connected.wait()
        following.cancel()
        await asyncio.wait([following], timeout=CLOSE_SECONDS / 2)
        assert following.cancelled()
        server.transport.abort()
