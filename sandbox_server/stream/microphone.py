"""What a person says, as the desktop's microphone: only where the settings let it, and only from who drives."""

import asyncio
from collections import deque
from collections.abc import Callable

import av

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.sound.pulseaudio import RATE, PulseAudio

MAX_WAITING = 10
"""Packets, of 20 ms each, that wait to be heard; older ones are left out."""
AGAIN_SECONDS = 1.0
"""Until it is tried again where there was no sound server; what is said meanwhile is not heard."""
QUIET_SECONDS = 2.0
"""After so long without a packet the microphone is let go of."""
MAX_LATE = 500
"""Who is as far behind the packet before belongs to another beginning."""


class Decoder:
    """Opus, one channel."""

    def __init__(self) -> None:
        self._codec = av.AudioCodecContext.create("libopus", "r")
        self._codec.sample_rate, self._codec.layout, self._codec.format = RATE, "mono", "s16"

    def decode(self, packet: bytes) -> bytes:
        """The samples of one packet: 16 bits; none where it is no packet."""
        try:
            frames = self._codec.decode(av.Packet(packet))
        except av.FFmpegError:
            return b""
        return b"".join(bytes(frame.planes[0])[: frame.samples * 2] for frame in frames)


class Voice:
    """One viewer's; `sound` is None where there is no microphone, `may` says whether it may speak now, `tasks` are the viewer's."""

    def __init__(self, sound: PulseAudio | None, may: Callable[[], bool], tasks: Tasks) -> None:
        self._sound = sound
        self._may = may
        self._tasks = tasks
        self._packets: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._news = asyncio.Event()
        self._number = -1
        self._speaking: asyncio.Task[None] | None = None

    @property
    def speaks(self) -> bool:
        """Whether the microphone hears this viewer."""
        return self._speaking is not None and not self._speaking.done()

    def say(self, number: int, packet: bytes) -> None:
        """Take a packet: it is heard after those before it, unless it comes after one that follows it, or may not be heard."""
        if not self._sound or not self._may() or self._number - MAX_LATE <= number <= self._number:
            return
        self._number = number
        self._packets.append(packet)
        self._news.set()
        if not self.speaks:
            self._speaking = self._tasks.start(self._speak(self._sound), name="viewer to microphone")

    def keep_to_lease(self) -> None:
        """Be silent at once, if this viewer may not speak any more."""
        if self._speaking and not self._may():
            self._speaking.cancel()
            self._speaking = None
            self._packets.clear()

    async def _speak(self, sound: PulseAudio) -> None:
        decoder = Decoder()
        try:
            async with sound.speak() as say:
                while True:
                    await say(await in_thread(decoder.decode, await self._next()))
        except TimeoutError:
            return
        except Unavailable:
            await asyncio.sleep(AGAIN_SECONDS)
            self._packets.clear()

    async def _next(self) -> bytes:
        """The next packet. Raises TimeoutError where none comes."""
        async with asyncio.timeout(QUIET_SECONDS):
            while not self._packets:
                self._news.clear()
                await self._news.wait()
        return self._packets.popleft()
