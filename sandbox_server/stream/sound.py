"""What the desktop plays, for those viewers who listen: heard and encoded once, and not at all while nobody does."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

import av

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.sound.pulseaudio import CHANNELS, RATE, PulseAudio
from sandbox_server.stream import wire

BITS = 96_000
"""A second; Opus is transparent to most ears from here on."""
MAX_WAITING = 25
"""Packets, of 20 ms each, that wait for a viewer; older ones are left out."""
SILENT_PIECES = 25
"""After so much silence none is sent until there is sound again."""
AGAIN_SECONDS = 1.0
"""Until it is listened again where there was no sound server."""

log = logging.getLogger("sandbox.stream")


class Encoder:
    """Opus, for one thread."""

    def __init__(self) -> None:
        self._codec = av.AudioCodecContext.create("libopus", "w")
        self._codec.sample_rate, self._codec.layout, self._codec.format = RATE, "stereo", "s16"
        self._codec.bit_rate = BITS
        self._codec.options = {"application": "lowdelay", "frame_duration": "20"}
        self._samples = 0

    def encode(self, piece: bytes) -> bytes:
        """One packet of one piece of 20 ms: 16 bits, left and right."""
        frame = av.AudioFrame(format="s16", layout="stereo", samples=len(piece) // (2 * CHANNELS))
        frame.sample_rate, frame.pts = RATE, self._samples
        self._samples += frame.samples
        frame.planes[0].update(piece)
        return b"".join(bytes(packet) for packet in self._codec.encode(frame))


class Ears:
    """One listener's packets, the latest of them."""

    def __init__(self) -> None:
        self._packets: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._news = asyncio.Event()

    def put(self, message: bytes) -> None:
        """Have one more heard."""
        self._packets.append(message)
        self._news.set()

    async def messages(self) -> AsyncIterator[bytes]:
        """What is played from now on, as messages."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._packets:
                yield self._packets.popleft()


class Broadcast:
    """The desktop's sound for any number of viewers; an asynchronous context manager."""

    def __init__(self, sound: PulseAudio) -> None:
        self._sound = sound
        self._ears: set[Ears] = set()
        self._playing: asyncio.Task[None] | None = None
        self._tasks = Tasks()
        self._number = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @property
    def playing(self) -> bool:
        """Whether anything is heard and encoded."""
        return self._playing is not None

    @contextmanager
    def listening(self) -> Iterator[Ears]:
        """Listen for as long as this is open."""
        ears = Ears()
        self._ears.add(ears)
        self._playing = self._playing or self._tasks.start(self._play(), name="sound of the desktop")
        try:
            yield ears
        finally:
            self._ears.discard(ears)
            if not self._ears and self._playing:
                self._playing.cancel()
                self._playing = None

    async def _play(self) -> None:
        encoder = ThreadPoolExecutor(1, "opus")
        try:
            while True:
                with suppress(Unavailable):
                    await self._encode(encoder)
                await asyncio.sleep(AGAIN_SECONDS)
        finally:
            encoder.shutdown(wait=False)

    async def _encode(self, thread: ThreadPoolExecutor) -> None:
        encoder = await in_thread(Encoder, executor=thread)
        silent = 0
        async with self._sound.listen() as pieces:
            async for piece in pieces:
                self._number = (self._number + 1) & 0xFFFFFFFF
                silent = silent + 1 if piece.count(0) == len(piece) else 0
                packet = await in_thread(encoder.encode, piece, executor=thread)
                if packet and silent < SILENT_PIECES:
                    for ears in self._ears:
                        ears.put(wire.sound(self._number, packet))


class Hearing:
    """Whether one viewer listens, and what it then is sent; `tasks` are the viewer's."""

    def __init__(self, broadcast: Broadcast, send: Callable[[bytes], Awaitable[None]], tasks: Tasks) -> None:
        self._broadcast = broadcast
        self._send = send
        self._tasks = tasks
        self._sending: asyncio.Task[None] | None = None

    def set(self, *, listens: bool) -> None:
        """Begin or end."""
        if listens and self._sending is None:
            self._sending = self._tasks.start(self._tell(), name="sound to viewer")
        elif not listens and self._sending:
            self._sending.cancel()
            self._sending = None

    async def _tell(self) -> None:
        with self._broadcast.listening() as ears:
            async for message in ears.messages():
                await self._send(message)
