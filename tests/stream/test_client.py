"""The Python client: it sees what the server shows, sends what it is given, and acknowledges every frame."""

from collections.abc import AsyncIterator

import pytest
from websockets.asyncio.server import ServerConnection, serve

from sandbox_server.stream import wire
from sandbox_server.stream.client import connect
from sandbox_server.stream.codecs.zstd import compress
from tests.patience import eventually

pytestmark = pytest.mark.anyio

RED = b"\x00\x00\x00\x00\x08\x00\x08\x00\x00\xff\x00\x00"
"""One rect of 8x8 pixels, of one colour."""


class Server:
    """Shows one frame to whoever says hello, and notes what is said."""

    def __init__(self) -> None:
        self.heard: list[wire.FromViewer] = []
        self.address = ""

    async def show(self, connection: ServerConnection) -> None:
        async for message in connection:
            assert isinstance(message, bytes)
            self.heard.append(wire.parse(message))
            if isinstance(self.heard[-1], wire.Hello):
                await connection.send(wire.hello(1, wire.MAY_ACT, 8, 8))
                await connection.send(wire.part(1, wire.exact(compress(RED), len(RED)), last=True))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    async with serve(server.show, "127.0.0.1", 0, compression=None) as listening:
        [socket] = listening.sockets
        server.address = f"ws://127.0.0.1:{socket.getsockname()[1]}"
        yield server


async def test_what_is_shown_is_seen_and_acknowledged(server: Server) -> None:
    async with connect(server.address) as desktop:
        await desktop.still(0.01)
        assert desktop.image().getpixel((3, 3)) == (255, 0, 0)
        await desktop.send(wire.PointerInput(1, 2, 0))

        async def heard() -> list[wire.FromViewer]:
            await desktop.send(wire.Ping(0))
            return server.heard

        await eventually(heard, lambda messages: len(messages) >= 3)
    hello, ack, point = server.heard[:3]
    assert (hello, point) == (wire.Hello(1, videos=True), wire.PointerInput(1, 2, 0))
    assert isinstance(ack, wire.Ack)
    assert ack.frame == 1


async def test_what_does_not_come_is_waited_for_no_longer_than_told(server: Server) -> None:
    async with connect(server.address) as desktop:
        with pytest.raises(TimeoutError):
            await desktop.until(lambda picture: picture.frame > 1, timeout=0.05)
