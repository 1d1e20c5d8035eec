"""Microphone input: a viewer is heard while it may speak, and no longer."""

import array
import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import av
import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import RATE, PulseAudio, Say
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.sound import microphone
from sandbox_server.stream.sound.microphone import MAX_LATE, MAX_WAITING, MicrophoneInput
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.viewers import GUEST, FakeClient, FakeLease, watching

pytestmark = pytest.mark.anyio

SAMPLES = RATE // 50


class Heard(PulseAudio):
    """A sound server whose microphone notes what it hears, once it is let to."""

    def __init__(self) -> None:
        super().__init__("/nonexistent")
        self.pieces: list[bytes] = []
        self.streams = 0
        self.open = asyncio.Event()
        self.open.set()

    @asynccontextmanager
    async def speak(self) -> AsyncIterator[Say]:
        self.streams += 1
        try:
            yield self._hear
        finally:
            self.streams -= 1

    async def _hear(self, samples: bytes) -> None:
        self.pieces.append(samples)
        await self.open.wait()


class Right:
    """Whether a viewer may speak."""

    def __init__(self) -> None:
        self.held = True

    def __call__(self) -> bool:
        return self.held


def spoken(count: int) -> Iterator[bytes]:
    """Packets of a tone, one channel."""
    codec = av.AudioCodecContext.create("libopus", "w")
    codec.sample_rate, codec.layout, codec.format = RATE, "mono", "s16"
    codec.options = {"frame_duration": "20"}
    tone = array.array("h", (round(20000 * math.sin(n / 10)) for n in range(SAMPLES))).tobytes()
    while count:
        frame = av.AudioFrame(format="s16", layout="mono", samples=SAMPLES)
        frame.sample_rate = RATE
        frame.planes[0].update(tone)
        for packet in codec.encode(frame):
            count -= 1
            yield bytes(packet)
            if not count:
                return


async def test_what_is_said_is_heard_in_its_order_and_once() -> None:
    heard = Heard()
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(heard, Right(), tasks)
        for number, packet in zip((1, 2, 2, 5, 3, 6), spoken(6), strict=True):
            microphone_input.say(number, packet)
        await eventually(lambda: len(heard.pieces) == 4)
        assert microphone_input.speaks
        assert {len(piece) for piece in heard.pieces} == {SAMPLES * 2}
        assert max(array.array("h", heard.pieces[-1])) > 10000
    assert not heard.streams


async def test_numbers_that_begin_again_are_heard() -> None:
    heard = Heard()
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(heard, Right(), tasks)
        for number, packet in zip((MAX_LATE + 2, 1), spoken(2), strict=True):
            microphone_input.say(number, packet)
        await eventually(lambda: len(heard.pieces) == 2)


async def test_who_may_not_speak_is_not_heard_from_that_moment() -> None:
    heard, right = Heard(), Right()
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(heard, right, tasks)
        packets = list(spoken(20))
        microphone_input.say(0, packets[0])
        await eventually(lambda: heard.pieces)
        heard.open.clear()
        for number in range(1, 5):
            microphone_input.say(number, packets[number])
        right.held = False
        microphone_input.keep_to_lease()
        await eventually(lambda: not heard.streams)
        pieces = len(heard.pieces)
        heard.open.set()
        microphone_input.say(10, packets[10])
        assert not microphone_input.speaks
        right.held = True
        microphone_input.keep_to_lease()
        microphone_input.say(11, packets[11])
        await eventually(lambda: len(heard.pieces) == pieces + 1)


async def test_without_a_microphone_nothing_is_heard() -> None:
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(None, Right(), tasks)
        microphone_input.say(1, next(spoken(1)))
        assert not microphone_input.speaks


async def test_what_is_said_faster_than_it_is_heard_is_bounded_and_the_latest_counts() -> None:
    heard = Heard()
    heard.open.clear()
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(heard, Right(), tasks)
        packets = list(spoken(1))
        microphone_input.say(0, packets[0])
        await eventually(lambda: heard.pieces)
        for number in range(1, 10 * MAX_WAITING):
            microphone_input.say(number, packets[0])
        heard.open.set()
        await eventually(lambda: len(heard.pieces) == 1 + MAX_WAITING)
        assert not microphone_input._packets


async def test_silence_lets_go_of_the_microphone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microphone, "QUIET_SECONDS", 0.0)
    heard = Heard()
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(heard, Right(), tasks)
        microphone_input.say(1, next(spoken(1)))
        await eventually(lambda: heard.pieces)
        await eventually(lambda: not heard.streams)


async def test_a_sound_server_that_is_not_there_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microphone, "RETRY_SECONDS", 0.0)

    class Late(Heard):
        tries = 0

        @asynccontextmanager
        async def speak(self) -> AsyncIterator[Say]:
            self.tries += 1
            if self.tries == 1:
                raise Unavailable("not yet", retry_after=1)
            async with super().speak() as say:
                yield say

    heard = Late()
    async with Tasks() as tasks:
        microphone_input = MicrophoneInput(heard, Right(), tasks)
        packets = list(spoken(2))
        microphone_input.say(1, packets[0])
        await eventually(lambda: heard.tries == 1 and not microphone_input.speaks)
        microphone_input.say(2, packets[1])
        await eventually(lambda: len(heard.pieces) == 1)


async def test_the_microphone_hears_who_drives_and_may_act(desktop: Desktop, xserver: XServer) -> None:
    client, guest, driver, heard = FakeClient(), FakeClient(), FakeLease(drives=True), Heard()
    [packet] = spoken(1)
    async with (
        watching(desktop, xserver.name, guest, caller=GUEST, microphone=heard),
        watching(desktop, xserver.name, client, lease=driver, microphone=heard),
    ):
        for each in (guest, client):
            await each.begins()
            each.say(wire.Spoken(1, packet))
        await eventually(lambda: heard.pieces)
        assert (client.picture.rights & wire.MAY_SPEAK, guest.picture.rights & wire.MAY_SPEAK) == (wire.MAY_SPEAK, 0)
        driver.set(drives=False)
        await eventually(lambda: not heard.streams)
        client.say(wire.Spoken(2, packet))
        client.say(wire.Missed(9))
        await eventually(lambda: client.missing == [9])
        assert len(heard.pieces) == 1
