"""A viewer without a page: sees the desktop and acts on it, over the same messages as a browser.

async with connect("ws://localhost:8080/stream/socket", {"Authorization": f"Bearer {key}"}) as desktop:
    await desktop.still()
    desktop.image().save("desktop.png")
    await desktop.send(Point(100, 200, buttons=1))
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from PIL import Image
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_socket

from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.picture import ViewerPicture

STILL_SECONDS = 1.0


class StreamClient:
    """One connection. What it shows is kept up to date by itself, and every frame is acknowledged."""

    def __init__(self, connection: ClientConnection, *, arrived: Callable[[int], None] | None = None) -> None:
        self._connection = connection
        self._arrived = arrived
        self._changed = asyncio.Condition()
        self.picture = ViewerPicture()
        self.received = 0
        """Bytes of all messages."""
        self.frames = 0

    async def send(self, message: wire.FromViewer) -> None:
        """Say something to the server."""
        await self._connection.send(wire.said(message))

    def image(self) -> Image.Image:
        """What is seen now, without the pointer."""
        return self.picture.image()

    async def until(self, true: Callable[[ViewerPicture], object], timeout: float = 30.0) -> None:
        """Wait until what is seen is as wanted. Raises TimeoutError."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(lambda: true(self.picture))

    async def still(self, seconds: float = STILL_SECONDS, timeout: float = 30.0) -> None:
        """Wait until something was seen and nothing has changed for so long. Raises TimeoutError."""
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

    async def follow(self) -> None:
        """Take what arrives until the connection ends. Raises BadMessage."""
        async for message in self._connection:
            await self._take(message if isinstance(message, bytes) else message.encode())

    async def _take(self, message: bytes) -> None:
        self.received += len(message)
        ended = self.picture.take(message)
        if ended is not None:
            await self.send(wire.Ack(ended, 0))
            self.frames += 1
            if self._arrived:
                self._arrived(len(message))
        async with self._changed:
            self._changed.notify_all()


@asynccontextmanager
async def connect(
    address: str, headers: Mapping[str, str] | None = None, *, films: bool = True, arrived: Callable[[int], None] | None = None
) -> AsyncIterator[StreamClient]:
    """Connect to a stream's socket; the connection ends with the context."""
    async with (
        connect_socket(address, additional_headers=headers, max_size=None, compression=None, proxy=None) as connection,
        Tasks() as tasks,
    ):
        client = StreamClient(connection, arrived=arrived)
        await client.send(wire.Hello(wire.VERSION, films=films))
        tasks.start(client.follow(), name="follow the stream")
        yield client
