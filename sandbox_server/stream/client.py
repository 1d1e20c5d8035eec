"""A viewer in Python: sees the desktop and acts on it, by the same protocol as a browser.

async with connect("ws://localhost:8080/stream/socket", {"Authorization": f"Bearer {key}"}) as desktop:
    await desktop.still()
    desktop.image().save("desktop.png")
    await desktop.send(Point(100, 200, buttons=1))
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from PIL import Image
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_socket

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.transport.client_channel import CHANNEL, SOCKET, ClientChannel
from sandbox_server.stream.transport.reorder_buffer import ReorderBuffer

STILL_SECONDS = 1.0


class StreamClient:
    """One connection to a stream. Its picture is kept up to date, and every frame is acknowledged."""

    def __init__(
        self, connection: ClientConnection, arrived: Callable[[int], None] | None, channel_tasks: Tasks | None, picture: ReferenceDecoder
    ) -> None:
        self._connection = connection
        self._arrived = arrived
        self._changed = asyncio.Condition()
        self._reorder = ReorderBuffer()
        self._inbound: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._channel = (
            ClientChannel(connection.send, lambda message: self._inbound.put_nowait((CHANNEL, message)), channel_tasks)
            if channel_tasks
            else None
        )
        self._frame_began: float | None = None
        self._latest: wire.Ack | None = None
        self.picture = picture
        self.received = 0
        """Bytes of all messages that arrived."""
        self.frames = 0

    @property
    def by_datagrams(self) -> bool:
        """Whether a data channel is open now."""
        return self._channel is not None and self._channel.usable

    async def send(self, message: wire.FromViewer) -> None:
        """Send a message to the server."""
        serialized = wire.serialize(message)
        if self._channel:
            await self._channel.send(serialized, unordered=isinstance(message, wire.Ack | wire.Ping))
        else:
            await self._connection.send(serialized)

    def image(self) -> Image.Image:
        """What is seen now, without the cursor."""
        return self.picture.image()

    async def until(self, true: Callable[[ReferenceDecoder], object], timeout: float = 30.0) -> None:
        """Wait until a condition on the picture is true. Raises TimeoutError."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: true(self.picture))

    async def still(self, seconds: float = STILL_SECONDS, timeout: float = 30.0) -> None:
        """Wait until a frame has arrived, and then none for so long. Raises TimeoutError."""
        await self.until(lambda picture: picture.frame, timeout)
        async with asyncio.timeout(timeout):
            while await self._changes_within(seconds):
                pass

    async def _changes_within(self, seconds: float) -> bool:
        before = self.frames
        try:
            await self.until(lambda _: self.frames != before, seconds)
        except TimeoutError:
            return False
        return True

    async def listen(self) -> None:
        """Receive messages of the WebSocket until the connection ends."""
        async for message in self._connection:
            self._inbound.put_nowait((SOCKET, message if isinstance(message, bytes) else message.encode()))

    async def follow(self) -> None:
        """Process messages in their order. Raises MalformedMessage."""
        while True:
            path, message = await self._inbound.get()
            if message[:1] == bytes([wire.SIGNAL]):
                await self._take_signal(message)
                continue
            self.received += len(message)
            for ready in self._reorder.take(path, message) if message else ():
                await self._take(ready)
            async with self._changed:
                self._changed.notify_all()

    async def _take_signal(self, message: bytes) -> None:
        if self._channel and self._channel.take_signal(message):
            self._reorder.forget(CHANNEL)
            if self._latest:  # it may have been lost
                await self.send(self._latest)

    async def _take(self, message: bytes) -> None:
        arrived = time.monotonic()
        self._frame_began = self._frame_began or arrived
        ended = self.picture.take(message)
        if ended is not None:
            self._latest = wire.Ack(ended, 0, min(65535, int((arrived - self._frame_began) * 1000)))
            self._frame_began = None
            await self.send(self._latest)
            self.frames += 1
            if self._arrived:
                self._arrived(len(message))


@asynccontextmanager
async def connect(
    address: str,
    headers: Mapping[str, str] | None = None,
    *,
    videos: bool = True,
    arrived: Callable[[int], None] | None = None,
    datagrams: bool = False,
    before: ReferenceDecoder | None = None,
) -> AsyncIterator[StreamClient]:
    """Connect to a stream's socket; the connection ends with the context.

    `datagrams`: use a data channel too, where the server offers one. `before` is the picture of a connection that has ended: the session is
    resumed, and only what differs is sent.
    """
    async with (
        connect_socket(address, additional_headers=headers, max_size=None, compression=None, proxy=None) as connection,
        Tasks() as tasks,
    ):
        client = StreamClient(connection, arrived, tasks if datagrams else None, before or ReferenceDecoder())
        if before:
            await client.send(wire.Resume(before.session, before.done))
        await client.send(wire.Hello(wire.VERSION, videos=videos))
        tasks.start(client.listen(), name="listen to the stream")
        tasks.start(client.follow(), name="follow the stream")
        yield client
