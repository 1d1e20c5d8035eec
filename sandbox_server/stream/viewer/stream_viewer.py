"""One viewer, from its first message to its last. No viewer waits for another."""

import asyncio
from dataclasses import dataclass

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.x11.damage import Area
from sandbox_server.stream import wire
from sandbox_server.stream.capture.x11 import ScreenCapture
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.input.clipboard_sync import ClipboardSync
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.resume import StreamSessions
from sandbox_server.stream.sound.broadcast import SoundBroadcast
from sandbox_server.stream.viewer.access import ViewerAccess, ViewerLease
from sandbox_server.stream.viewer.frame_clock import FrameClock
from sandbox_server.stream.viewer.frame_sender import FrameSender
from sandbox_server.stream.viewer.handshake import Handshake
from sandbox_server.stream.viewer.side_channels import SideChannels
from sandbox_server.stream.viewer.silence import Silence
from sandbox_server.stream.viewer.socket import ViewerSocket
from sandbox_server.stream.viewer.viewer_input import ViewerInput
from sandbox_server.stream.viewer.viewer_sound import ViewerSound

SILENCE_CHECK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class StreamSources:
    """What all viewers share."""

    screen: ScreenCapture
    encoder: FrameEncoder
    sessions: StreamSessions
    sound: SoundBroadcast
    microphone: PulseAudio | None = None
    """The sound server whose microphone hears who drives; None if the desktop has none."""


class StreamViewer:
    """Dispatches the messages of one viewer to its parts, and has them send what is new."""

    def __init__(
        self, socket: ViewerSocket, sources: StreamSources, injector: InputInjector, caller: Caller, lease: ViewerLease, session: int
    ) -> None:
        self._socket = socket
        self._screen = sources.screen
        self._sessions = sources.sessions
        self._session = session
        self._superseded = asyncio.Event()
        self._greeted = False
        self._tasks = Tasks()
        self._access = access = ViewerAccess(caller, lease, has_microphone=sources.microphone is not None)
        clipboard = ClipboardSync()
        self._silence = Silence()
        self._clock = FrameClock(access)
        self._handshake = Handshake(socket, access, session)
        self._input = ViewerInput(access, injector, clipboard)
        self._frames = FrameSender(socket, sources.screen, sources.encoder, access, self._handshake)
        self._side_channels = SideChannels(socket, sources.screen, access, injector, clipboard, self._tasks)
        self._sound = ViewerSound(socket, access, sources.sound, sources.microphone, self._tasks)
        lease.changed = self._note_lease

    def drawn(self, areas: list[Area]) -> None:
        """Note that the screen was drawn on there."""
        self._frames.drawn(areas)

    def wake(self) -> None:
        """Look for what is new."""
        self._sound.keep_to_lease()
        self._clock.wake()

    def _note_lease(self) -> None:
        self._side_channels.note_lease()
        self._clock.note_lease()
        self.wake()

    async def run(self) -> None:
        """Serve the viewer until it leaves. Raises MalformedMessage if it sends what is no message."""
        self._sessions.begin(self._session, self._access.name, self._superseded.set)
        try:
            await self._screen.join(self)
            async with self._tasks as tasks:
                ends = {tasks.start(self._listen(), name="viewer to desktop"), tasks.start(self._show(), name="desktop to viewer")}
                ends.add(tasks.start(self._leave(), name="viewer resumes elsewhere"))
                tasks.start(self._release_while_silent(), name="release what a silent viewer holds")
                ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for end in ended:
                    end.result()
        finally:
            await self._input.release_all()
            await self._screen.leave(self)
            self._sessions.end(self._session, self._frames.planner if self._handshake.done else None)

    async def _leave(self) -> None:
        await self._superseded.wait()

    async def _listen(self) -> None:
        while (message := await self._socket.receive()) is not None:
            parsed = wire.parse(message)
            self._silence.heard(parsed)
            await self._take(parsed)
            self._clock.wake()

    async def _release_while_silent(self) -> None:
        while True:
            await asyncio.sleep(SILENCE_CHECK_SECONDS)
            if self._silence.lasts:
                await self._input.release_all()

    async def _take(self, message: wire.FromViewer) -> None:
        match message:
            case wire.Hello():
                self._greet(message)
            case wire.Ack():
                self._frames.acked(message)
            case wire.Ping():
                await self._socket.send(wire.pong(message.number))
            case wire.Visible():
                self._frames.visible = message.visible
            case wire.Whole():
                await self._frames.start_over()
            case wire.Resume():
                await self._resume(message)
            case wire.Listens() | wire.Missed() | wire.Spoken():
                self._sound.take(message)
            case wire.Signal():
                self._socket.negotiate(message.text)
            case _:
                await self._input.take(message)

    def _greet(self, hello: wire.Hello) -> None:
        if hello.version != wire.VERSION:
            raise wire.MalformedMessage(f"this server speaks version {wire.VERSION}")
        self._greeted, self._frames.decodes_video = True, hello.videos

    async def _resume(self, before: wire.Resume) -> None:
        """Go on with what the viewer had in another connection. If that is not known, it is sent everything."""
        planner = None if self._greeted else await self._sessions.resume(before.session, self._access.name)
        if planner is not None:
            await self._frames.resume(planner, before.frame)

    async def _show(self) -> None:
        """Send what is new, whenever something is."""
        while True:
            now = await self._clock.next(self._frames.due_at)
            if not self._greeted:
                continue
            await self._input.keep_to_lease()
            await self._handshake.update_rights()
            await self._side_channels.update()
            has_news = self._frames.has_news(now)
            if has_news or not self._access.drives:  # a click wakes this, and again what comes of it, which must not wait
                self._clock.begin(now)
            if has_news:
                await self._show_frame()

    async def _show_frame(self) -> None:
        try:
            await self._frames.send_next()
        except Unavailable:
            return
        if self._frames.planner.is_behind:  # not all of it was sent
            self.wake()
