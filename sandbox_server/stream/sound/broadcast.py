"""The desktop's sound for viewers: captured and encoded once for all who listen, and not at all while nobody does."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.stream import wire
from sandbox_server.stream.sound.opus import OpusEncoder

MAX_WAITING = 25
"""Packets, of 20 ms each, that wait for a viewer; older ones are dropped."""
SILENT_PIECES = 25
"""Pieces of silence, 20 ms each, after which nothing is sent until there is sound again."""
RETRY_SECONDS = 1.0
"""Between two attempts to reach the sound server."""

log = logging.getLogger("sandbox.stream")


class SoundQueue:
    """The packets that wait for one listener, the latest of them."""

    def __init__(self) -> None:
        self._packets: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._news = asyncio.Event()

    def put(self, message: bytes) -> None:
        """Add a message."""
        self._packets.append(message)
        self._news.set()

    async def messages(self) -> AsyncIterator[bytes]:
        """The messages of sound from now on."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._packets:
                yield self._packets.popleft()


class SoundBroadcast:
    """The desktop's sound for any number of viewers; an asynchronous context manager."""

    def __init__(self, sound: PulseAudio) -> None:
        self._sound = sound
        self._queues: set[SoundQueue] = set()
        self._playing: asyncio.Task[None] | None = None
        self._tasks = Tasks()
        self._number = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @property
    def playing(self) -> bool:
        """Whether sound is captured and encoded now."""
        return self._playing is not None

    @contextmanager
    def listening(self) -> Iterator[SoundQueue]:
        """Listen for as long as the context."""
        queue = SoundQueue()
        self._queues.add(queue)
        self._playing = self._playing or self._tasks.start(self._play(), name="sound of the desktop")
        try:
            yield queue
        finally:
            self._queues.discard(queue)
            if not self._queues and self._playing:
                self._playing.cancel()
                self._playing = None

    async def _play(self) -> None:
        encoder = ThreadPoolExecutor(1, "opus")
        try:
            while True:
                with suppress(Unavailable):
                    await self._encode(encoder)
                await asyncio.sleep(RETRY_SECONDS)
        finally:
            encoder.shutdown(wait=False)

    async def _encode(self, thread: ThreadPoolExecutor) -> None:
        encoder = await in_thread(OpusEncoder, executor=thread)
        silent = 0
        async with self._sound.listen() as pieces:
            async for piece in pieces:
                self._number = (self._number + 1) & 0xFFFFFFFF
                silent = silent + 1 if piece.count(0) == len(piece) else 0
                packet = await in_thread(encoder.encode, piece, executor=thread)
                if packet and silent < SILENT_PIECES:
                    for queue in self._queues:
                        queue.put(wire.sound(self._number, packet))


class SoundSubscription:
    """One viewer's subscription to the sound. `tasks` are the viewer's."""

    def __init__(self, broadcast: SoundBroadcast, send: Callable[[bytes], Awaitable[None]], tasks: Tasks) -> None:
        self._broadcast = broadcast
        self._send = send
        self._tasks = tasks
        self._sending: asyncio.Task[None] | None = None

    def set(self, *, listens: bool) -> None:
        """Subscribe or unsubscribe."""
        if listens and self._sending is None:
            self._sending = self._tasks.start(self._forward(), name="sound to viewer")
        elif not listens and self._sending:
            self._sending.cancel()
            self._sending = None

    async def _forward(self) -> None:
        with self._broadcast.listening() as queue:
            async for message in queue.messages():
                await self._send(message)
