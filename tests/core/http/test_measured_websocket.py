import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from sandbox_server.core.http.measured_websocket import NOTED_BYTES, MeasuredWebSocket, connection_of
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio

LARGE = 8 << 20
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


class Met:
    """An application that sends what it is told to, and the connection that it met."""

    def __init__(self) -> None:
        self.connection: asyncio.Future[MeasuredWebSocket] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.text = ""

    async def serve(self, websocket: WebSocket) -> None:
        await websocket.accept()
        self.connection.set_result(connection_of(websocket))
        with suppress(WebSocketDisconnect):
            if self.text:
                await websocket.send_text(self.text)
            await websocket.receive()
        self.over.set()


@asynccontextmanager
async def met(folder: Path, text: str = "") -> AsyncIterator[tuple[Met, MeasuredWebSocket, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A server, and a client that has read the head of its answer and nothing else."""
    found, path = Met(), str(folder / "s.sock")
    found.text = text
    app = Starlette(routes=[WebSocketRoute("/", found.serve)])
    server = uvicorn.Server(uvicorn.Config(app, uds=path, ws=MeasuredWebSocket, lifespan="off", log_config=None, ws_max_size=2 * LARGE))
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    reader, writer = await asyncio.open_unix_connection(path, limit=1024)
    writer.write(HANDSHAKE)
    await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(PATIENCE_SECONDS):
        yield found, await found.connection, reader, writer
    writer.close()
    server.should_exit = True
    await serving


async def test_what_the_other_side_does_not_read_is_held_until_it_is_cut_off(tmp_path: Path) -> None:
    async with met(tmp_path, "x" * LARGE) as (found, connection, reader, _):
        await eventually(lambda: connection.held > LARGE // 2)
        connection.abort()
        assert (connection.held, connection.lost) == (0, True)
        size = 0
        with suppress(ConnectionError):
            while piece := await reader.read(1 << 16):
                size += len(piece)
        await found.over.wait()
        assert size < LARGE


async def test_what_the_other_side_has_read_is_held_no_more(tmp_path: Path) -> None:
    async with met(tmp_path, "x" * LARGE) as (_, connection, reader, _):
        assert len(await reader.readexactly(LARGE)) == LARGE
        await eventually(lambda: connection.held == 0)


async def test_a_message_that_is_not_whole_yet_is_held_and_told(tmp_path: Path) -> None:
    async with met(tmp_path) as (_, connection, _, writer):
        told: list[int] = []
        connection.grown = lambda: told.append(connection.held)
        writer.write(bytes([0x81, 0x80 | 127, *LARGE.to_bytes(8), 0, 0, 0, 0]) + b"x" * (LARGE // 2))
        await eventually(lambda: connection.held >= LARGE // 2)
        assert told
        assert min(told) > NOTED_BYTES
