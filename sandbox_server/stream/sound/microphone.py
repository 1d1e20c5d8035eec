"""Microphone input: a viewer's speech for the desktop's microphone, while the viewer may speak."""

import asyncio
from collections import deque
from collections.abc import Callable

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.stream.sound.opus import OpusDecoder

MAX_WAITING = 10
"""Packets, of 20 ms each, that wait to be played to the microphone; older ones are dropped."""
RETRY_SECONDS = 1.0
"""Time between two attempts to reach the sound server; speech meanwhile is dropped."""
QUIET_SECONDS = 2.0
"""The microphone is closed after so long without a packet."""
MAX_LATE = 500
"""A packet number so far behind the latest begins a new sequence."""


class MicrophoneInput:
    """Plays one viewer's speech to the microphone.

    `sound` is None where there is no microphone, `may` says whether the viewer may speak now, `tasks` are the viewer's.
    """

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
        """Take a packet. It is dropped if a later one has arrived before it, or the viewer may not speak."""
        if not self._sound or not self._may() or self._number - MAX_LATE <= number <= self._number:
            return
        self._number = number
        self._packets.append(packet)
        self._news.set()
        if not self.speaks:
            self._speaking = self._tasks.start(self._speak(self._sound), name="viewer to microphone")

    def keep_to_lease(self) -> None:
        """Stop at once if the viewer may not speak any more."""
        if self._speaking and not self._may():
            self._speaking.cancel()
            self._speaking = None
            self._packets.clear()

    async def _speak(self, sound: PulseAudio) -> None:
        decoder = OpusDecoder()
        try:
            async with sound.speak() as say:
                while True:
                    await say(await in_thread(decoder.decode, await self._next()))
        except TimeoutError:
            return
        except Unavailable:
            await asyncio.sleep(RETRY_SECONDS)
            self._packets.clear()

    async def _next(self) -> bytes:
        """The next packet. Raises TimeoutError where none comes."""
        async with asyncio.timeout(QUIET_SECONDS):
            while not self._packets:
                self._news.clear()
                await self._news.wait()
        return self._packets.popleft()
