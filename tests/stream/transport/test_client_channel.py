"""A client's data channel beside its WebSocket, with the server's end of both."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.client import StreamClient, connect
from sandbox_server.stream.codecs.zstd import compress
from sandbox_server.stream.transport.channel import channel_factory
from sandbox_server.stream.transport.client_channel import MAX_TWICE, ClientChannel
from sandbox_server.stream.transport.udp_mux import UdpMux
from sandbox_server.stream.transport.viewer_transport import ViewerTransport
from tests.patience import PATIENCE_SECONDS, until
from tests.stream.transport.links import Lossy

pytestmark = pytest.mark.anyio


class Carried:
    """A connection as what carries messages."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    async def send(self, message: bytes) -> None:
        await self._connection.send(message)

    async def receive(self) -> bytes | None:
        async for message in self._connection:
            assert isinstance(message, bytes)
            return message
        return None


class Server:
    """Shows whoever comes one colour after the other, each in a frame of its own; notes what they say."""

    def __init__(self, mux: UdpMux, port: int) -> None:
        self._door, self._port = mux, port
        self.heard: list[wire.FromViewer] = []
        self.acked = asyncio.Condition()
        self.latest = 0

    async def show(self, connection: ServerConnection) -> None:
        async with (
            ViewerTransport(Carried(connection), channel_factory(self._door, "127.0.0.1", self._port)) as transport,
            Tasks() as tasks,
        ):
            tasks.start(self._paint(transport))
            while (message := await transport.receive()) is not None:
                await self._take(transport, wire.parse(message))

    async def _take(self, transport: ViewerTransport, message: wire.FromViewer) -> None:
        match message:
            case wire.Signal():
                transport.negotiate(message.text)
            case wire.Ack():
                self.latest = max(self.latest, message.frame)
                async with self.acked:
                    self.acked.notify_all()
            case _:
                self.heard.append(message)

    async def _paint(self, transport: ViewerTransport) -> None:
        await transport.send(wire.hello(1, 0, 64, 64))
        for number in range(1, 1 << 16):
            async with self.acked:
                await self.acked.wait_for(lambda number=number: number - self.latest < 8)  # type: ignore[misc]
            for part in range(3):
                rect = bytes(4) + b"\x40\x00\x40\x00\x00" + bytes([number & 255, part, 9])
                await transport.send(wire.part(number, wire.exact(compress(rect), len(rect)), last=part == 2))


@asynccontextmanager
async def watching() -> AsyncIterator[tuple[StreamClient, Server, Lossy]]:
    async with UdpMux("127.0.0.1", 0) as mux, Lossy(("127.0.0.1", mux.port), 0.05) as link:
        server = Server(mux, link.port)
        async with serve(server.show, "127.0.0.1", 0, compression=None) as listening:
            [socket] = listening.sockets
            address = f"ws://127.0.0.1:{socket.getsockname()[1]}"
            async with connect(address, datagrams=True) as client:
                yield client, server, link


async def test_frames_come_by_datagrams_and_over_the_socket_again_when_those_are_lost() -> None:
    async with watching() as (client, _, link):
        await client.until(lambda _: client.by_datagrams, PATIENCE_SECONDS)
        opened_at = client.frames
        await client.until(lambda _: client.frames > opened_at + 100, PATIENCE_SECONDS)
        assert link.lost
        link.cut = True
        await client.until(lambda _: not client.by_datagrams, PATIENCE_SECONDS)
        cut_at = client.frames
        await client.until(lambda _: client.frames > cut_at + 50, PATIENCE_SECONDS)
        assert client.image().getpixel((5, 5)) == (client.picture.frame & 255, 2, 9)
        assert client.picture.frame == client.frames  # each of them once


async def test_what_is_said_is_heard_once_and_in_order() -> None:
    async with watching() as (client, server, _):
        await client.until(lambda _: client.by_datagrams, PATIENCE_SECONDS)
        messages: list[wire.FromViewer] = [wire.PointerInput(number, number, 0) for number in range(50)]
        messages[25] = wire.Copied("x" * (MAX_TWICE + 1))  # too long for the channel
        for message in messages:
            await client.send(message)
        await asyncio.to_thread(until, lambda: len(server.heard) > len(messages))
        assert server.heard[1:] == messages


async def test_a_server_that_does_not_invite_is_not_offered_anything() -> None:
    sent: list[bytes] = []

    async def send(message: bytes) -> None:
        sent.append(message)

    async with Tasks() as tasks:
        beside = ClientChannel(send, sent.append, tasks)
        await beside.send(b"one", unordered=True)
        assert not beside.usable
        assert not beside.take_signal(wire.signal(1, "an answer to nothing"))
    assert sent == [b"one"]
