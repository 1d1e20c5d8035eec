"""The desktop's sound for viewers: encoded while somebody listens, the same for everybody, and no silence sent."""

import array
import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import CHUNK_SECONDS, RATE, PulseAudio
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.sound.broadcast import MAX_WAITING, SILENT_PIECES, SoundBroadcast, SoundQueue, SoundSubscription
from tests.patience import eventually

pytestmark = pytest.mark.anyio

SAMPLES = round(RATE * CHUNK_SECONDS)
TONE = array.array("h", (round(20000 * math.sin(n / 10)) for n in range(SAMPLES) for _ in range(2))).tobytes()
SILENCE = bytes(len(TONE))


class Played(PulseAudio):
    """A sound server that plays what it is given, and nothing after it."""

    def __init__(self, *pieces: bytes) -> None:
        super().__init__("/nonexistent")
        self.left = list(pieces)
        self._more = asyncio.Event()
        self.listeners = 0

    def play(self, *pieces: bytes) -> None:
        """Play these too."""
        self.left += pieces
        self._more.set()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
        self.listeners += 1
        try:
            yield self._pieces()
        finally:
            self.listeners -= 1

    async def _pieces(self) -> AsyncIterator[bytes]:
        while True:
            while self.left:
                yield self.left.pop(0)
            self._more.clear()
            await self._more.wait()


def number_and_packet(message: bytes) -> tuple[int, bytes]:
    picture = ReferenceDecoder()
    picture.take(message)
    assert picture.heard
    return picture.heard


async def heard(queue: SoundQueue, count: int) -> list[tuple[int, bytes]]:
    messages = queue.messages()
    async with asyncio.timeout(30):
        return [number_and_packet(await anext(messages)) for _ in range(count)]


async def test_what_is_played_is_heard_by_all_who_listen_and_encoded_once() -> None:
    played = Played(*[TONE] * 5)
    async with SoundBroadcast(played) as broadcast:
        with broadcast.listening() as one, broadcast.listening() as other:
            first, second = await heard(one, 5), await heard(other, 5)
            assert played.listeners == 1
        assert first == second
        assert [number for number, _ in first] == [1, 2, 3, 4, 5]


async def test_nothing_is_heard_while_nobody_listens() -> None:
    played = Played(TONE)
    async with SoundBroadcast(played) as broadcast:
        assert (played.listeners, broadcast.playing) == (0, False)
        with broadcast.listening() as queue:
            await heard(queue, 1)
        await eventually(lambda: not played.listeners)
        assert not broadcast.playing


async def test_a_long_silence_is_not_sent_and_the_numbers_tell() -> None:
    played = Played(TONE, *[SILENCE] * (SILENT_PIECES + 100), TONE)
    async with SoundBroadcast(played) as broadcast:
        with broadcast.listening() as queue:
            *_, before, after = await heard(queue, SILENT_PIECES + 1)
            assert (before[0], after[0]) == (SILENT_PIECES, SILENT_PIECES + 102)


async def test_who_does_not_keep_up_hears_the_latest() -> None:
    queue = SoundQueue()
    for number in range(MAX_WAITING + 10):
        queue.put(number.to_bytes())
    assert await anext(queue.messages()) == b"\x0a"


async def test_a_sound_server_that_is_not_there_is_asked_again() -> None:
    class Late(Played):
        tries = 0

        @asynccontextmanager
        async def listen(self) -> AsyncIterator[AsyncIterator[bytes]]:
            self.tries += 1
            if self.tries == 1:
                raise Unavailable("not yet", retry_after=1)
            async with super().listen() as pieces:
                yield pieces

    async with SoundBroadcast(Late(TONE)) as broadcast:
        with broadcast.listening() as queue:
            assert await heard(queue, 1)


async def test_a_viewer_is_sent_sound_from_when_it_asks_until_it_asks_no_more() -> None:
    played, sent = Played(TONE), []

    async def send(message: bytes) -> None:
        sent.append(message)

    async with SoundBroadcast(played) as broadcast, Tasks() as tasks:
        hearing = SoundSubscription(broadcast, send, tasks)
        hearing.set(listens=True)
        hearing.set(listens=True)
        await eventually(lambda: sent)
        hearing.set(listens=False)
        await eventually(lambda: not played.listeners)
