"""Viewers of a real X server, with a fake client and a fake lease."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sandbox_server.core.identity import Caller
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream import wire
from sandbox_server.stream.capture.x11 import ScreenCapture
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.congestion.window import CongestionWindow
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.resume import StreamSessions
from sandbox_server.stream.sound.broadcast import SoundBroadcast
from sandbox_server.stream.viewer.stream_viewer import StreamSources, StreamViewer
from tests.patience import eventually

PERSON = Caller("person", frozenset({"view", "control"}), person=True)
QUIET = SoundBroadcast(PulseAudio("/nonexistent"))
GUEST = Caller("guest", frozenset({"view"}), person=True)


class FakeLease:
    """A lease that a test sets. `asked` counts the inputs that asked to act."""

    def __init__(self, *, drives: bool) -> None:
        self.drives = drives
        self.sees: bool | None = True
        self.programs = True
        self.asked = 0
        self.changed: Callable[[], None] = lambda: None

    async def act(self) -> bool:
        self.asked += 1
        return self.drives

    def set(self, *, drives: bool) -> None:
        self.drives, self.programs = drives, not drives
        self.changed()

    def show(self, *, sees: bool) -> None:
        self.sees = sees
        self.changed()


class FakeClient:
    """The client's end of a viewer: it decodes what it is sent. `acks`: whether it acknowledges frames."""

    def __init__(self, *, acks: bool = True) -> None:
        self.picture = ReferenceDecoder()
        self.outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.frames = 0
        self.bytes = 0
        self.deaf = False
        """Whether what is sent is lost."""
        self.lost = 0
        self.pongs: list[int] = []
        self.heeded: CongestionWindow | None = None
        self.signals: list[str] = []
        self.has_track = False
        self.pictures: list[bytes] = []
        self.lost_track = 0
        self.missing: list[int] = []
        self._acks = acks

    async def send(self, message: bytes) -> None:
        self.lost += self.deaf
        self.bytes += len(message)
        if message[0] == wire.PICTURE:
            self.pictures.append(message)
            return
        if message[0] == wire.PONG:
            self.pongs.append(int.from_bytes(message[1:5], "little"))
        ended = None if self.deaf else self.picture.take(message)
        if ended is not None:
            self.frames += 1
            if self._acks:
                self.say(wire.Ack(ended, 1))

    async def receive(self) -> bytes | None:
        return await self.outgoing.get()

    def pace(self, window: CongestionWindow) -> None:
        self.heeded = window

    def negotiate(self, text: str) -> None:
        self.signals.append(text)

    def take_keyframe_request(self) -> bool:
        lost, self.lost_track = self.lost_track, 0
        return bool(lost)

    def report_sound_loss(self, share: int) -> None:
        self.missing.append(share)

    def say(self, message: wire.FromViewer) -> None:
        self.outgoing.put_nowait(wire.serialize(message))

    async def begins(self) -> None:
        await eventually(lambda: self.frames)

    async def shows(self, pixels: bytes) -> None:
        await eventually(lambda: self.picture.image().tobytes() == pixels)


@asynccontextmanager
async def sharing(
    name: str, *, sessions: StreamSessions | None = None, sound: SoundBroadcast = QUIET, microphone: PulseAudio | None = None
) -> AsyncIterator[StreamSources]:
    """What viewers of the display `name` share."""
    async with ScreenCapture(name) as screen, FrameEncoder() as encoder:
        yield StreamSources(screen, encoder, sessions or StreamSessions(), sound, microphone)


@asynccontextmanager
async def watching(
    desktop: Desktop,
    name: str,
    client: FakeClient,
    *,
    caller: Caller = PERSON,
    lease: FakeLease | None = None,
    sessions: StreamSessions | None = None,
    session: int = 1,
    sound: SoundBroadcast = QUIET,
    microphone: PulseAudio | None = None,
    before: wire.Resume | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    async with (
        sharing(name, sessions=sessions, sound=sound, microphone=microphone) as sources,
        X11Connection(name) as connection,
        Tasks() as tasks,
    ):
        injector = InputInjector(desktop, connection)
        viewer = StreamViewer(client, sources, injector, caller, lease or FakeLease(drives=True), session)
        running = tasks.start(viewer.run())
        if before:
            client.say(before)
        client.say(wire.Hello(wire.VERSION, videos=False))
        yield running


def has_number(numbers: list[int], number: int) -> bool:
    return number in numbers
