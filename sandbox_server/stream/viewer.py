"""One viewer: its messages in, frames out as fast as it takes them. No viewer waits for another."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.results import Caller
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.x11.damage import Area
from sandbox_server.stream import wire
from sandbox_server.stream.acting import Acting
from sandbox_server.stream.clippings import Clippings
from sandbox_server.stream.cursor import Cursor
from sandbox_server.stream.encode import Encoders
from sandbox_server.stream.hands import Hands, Input, means_to_act
from sandbox_server.stream.microphone import Voice
from sandbox_server.stream.motion import MAX_FILMS
from sandbox_server.stream.pixels import Frame
from sandbox_server.stream.screen import Screen
from sandbox_server.stream.sessions import Sessions
from sandbox_server.stream.sound import Broadcast, Hearing
from sandbox_server.stream.view import Plan, View
from sandbox_server.stream.window import FilmRate, Window
from sandbox_server.stream.zstd import compress

FRAME_SECONDS = 1 / 60
"""Between the beginnings of two frames, at least, for who drives: screens show no more."""
WATCH_SECONDS = 1 / 15
"""For a person who only watches: the processor is the agent's then."""


class Socket(Protocol):
    """What carries messages to and from a viewer."""

    async def send(self, message: bytes) -> None:
        """Send one, as soon as there is room for it and nothing more urgent waits."""

    def heed(self, window: Window) -> None:
        """Space what is sent by what is known of the way."""

    def signalled(self, text: str) -> None:
        """Take what a viewer says about another way. Raises BadMessage."""

    @property
    def has_track(self) -> bool:
        """Whether a film may go by a track now."""

    def take_lost(self) -> bool:
        """Whether the viewer has asked for a picture of it that needs none before it, since the last time."""

    def missed(self, share: int) -> None:
        """Take that the viewer missed this share of the sound, in 255ths."""

    async def receive(self) -> bytes | None:
        """The next of the viewer's; None when it has gone."""


class Lease(Protocol):
    """Whether one viewer's input counts."""

    drives: bool
    """Whether it does now."""
    sees: bool | None
    """Whether the viewer may see the screen now; None while that is not known, and then it may not."""
    programs: bool
    """Whether programs act on the screen now, and no person does."""
    changed: Callable[[], None]
    """Called whenever any of these is different."""

    async def act(self) -> bool:
        """Take an input that means to act: whether it counts. A person's first one takes control, where the settings let it."""


class Viewer:
    """One viewer of the screen, whose input counts if `caller` may act and the lease lets it; `microphone` hears it then."""

    def __init__(
        self,
        socket: Socket,
        screen: Screen,
        hands: Hands,
        encoders: Encoders,
        caller: Caller,
        lease: Lease,
        sessions: Sessions,
        session: int,
        sound: Broadcast,
        microphone: PulseAudio | None = None,
    ) -> None:
        self._socket = socket
        self._screen = screen
        self._hands = hands
        self._encoders = encoders
        self._caller = caller
        self._lease = lease
        lease.changed = self._note_lease
        self._sessions = sessions
        self._session = session
        self._left = asyncio.Event()
        self._view = View()
        self._films = False
        self._window = Window()
        self._rate = FilmRate()
        self._news = asyncio.Event()
        self._turned = asyncio.Event()
        self._visible = True
        self._greeted = False
        self._told = False
        self._cursor: Cursor | None = None
        self._running = True
        self._rights = 0
        self._pointer = (-1, -1)
        self._copies = screen.copies
        self._acting = Acting(screen)
        self._clippings = Clippings()
        self._tasks = Tasks()
        self._hearing = Hearing(sound, self._tell_heard, self._tasks)
        self._speaks = wire.MAY_SPEAK if microphone else 0
        self._voice = Voice(microphone, self._may_speak, self._tasks)

    def drawn(self, areas: list[Area]) -> None:
        """Note that the screen was drawn on there."""
        self._view.drawn(areas)

    def wake(self) -> None:
        """Look what is new."""
        self._voice.keep_to_lease()
        self._news.set()

    def _note_lease(self) -> None:
        self._acting.forget()
        self._turned.set()
        self.wake()

    async def run(self) -> None:
        """Serve the viewer until it leaves. Raises BadMessage if it sends what is no message."""
        self._sessions.begin(self._session, self._caller.name, self._left.set)
        try:
            await self._screen.join(self)
            async with self._tasks as tasks:
                ends = {tasks.start(self._listen(), name="viewer to desktop"), tasks.start(self._show(), name="desktop to viewer")}
                ends.add(tasks.start(self._leave(), name="viewer goes on elsewhere"))
                ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for end in ended:
                    end.result()
        finally:
            with suppress(Unavailable):
                await self._hands.let_go()
            await self._screen.leave(self)
            self._sessions.end(self._session, self._view if self._told else None)

    async def _leave(self) -> None:
        await self._left.wait()

    async def _listen(self) -> None:
        while (message := await self._socket.receive()) is not None:
            await self._take(wire.parse(message))

    async def _take(self, message: wire.FromViewer) -> None:
        match message:
            case wire.Hello():
                if message.version != wire.VERSION:
                    raise wire.BadMessage(f"this server speaks version {wire.VERSION}")
                self._greeted, self._films = True, message.films
            case wire.Ack():
                self._acked(message, time.monotonic())
            case wire.Ping():
                await self._socket.send(wire.pong(message.number))
            case wire.Visible():
                self._visible = message.visible
            case wire.Whole():
                await self._start_over()
            case wire.Resume():
                await self._resume(message)
            case wire.Listens():
                self._hearing.set(listens=message.listens)
            case wire.Missed():
                self._socket.missed(message.share)
            case wire.Spoken():
                self._voice.say(message.number, message.packet)
            case wire.Signal():
                self._socket.signalled(message.text)
            case _:
                await self._act(message)
        self._news.set()

    def _acked(self, ack: wire.Ack, now: float) -> None:
        if self._window.acked(ack.frame, now, ack.milliseconds / 1000, ack.receiving / 1000):
            self._view.acked(ack.frame)
            self._rate.learn(self._window, now)
            self._socket.heed(self._window)

    async def _act(self, what: Input) -> None:
        if not self._caller.may("control"):
            return
        counts = await self._lease.act() if means_to_act(what) else self._lease.drives
        with suppress(Unavailable):  # there is no desktop to do it to
            if counts:
                self._clippings.learn(what)
                await self._hands.do(what)
            elif self._hands.holds:
                await self._hands.let_go()

    def _may_speak(self) -> bool:
        return self._caller.may("control") and self._lease.drives and bool(self._lease.sees)

    async def _start_over(self) -> None:
        with suppress(Unavailable):
            await self._screen.look(lambda _: self._view.restart())

    async def _resume(self, before: wire.Resume) -> None:
        """Go on with what the viewer had in another connection, where that is known; else it is sent everything."""
        view = None if self._greeted else await self._sessions.resume(before.session, self._caller.name)
        if view is None:
            return

        def take_over(_: Frame) -> None:
            view.resume(before.frame)
            self._view = view

        with suppress(Unavailable):
            await self._screen.look(take_over)

    async def _show(self) -> None:
        """Send what is new, whenever something is."""
        begun = 0.0
        while True:
            await self._wait(begun)
            now = time.monotonic()
            self._news.clear()
            if not self._greeted:
                continue
            await self._tell()
            shows = self._may_look and self._has_news(now)
            if shows or not self._lease.drives:  # a click wakes this, and again what comes of it, which must not wait
                begun = now
            if shows:
                with suppress(Unavailable):
                    await self._look()
                    if self._view.is_behind:  # not all of it was sent
                        self.wake()

    async def _look(self) -> None:
        """Send what is new on the screen, unless it is hidden by the time that it is known."""
        self._look_for_track()
        room, pointer = self._window.room, self._screen.pointer
        closed = self._window.closed(time.monotonic())
        plan = await self._screen.look(lambda frame: self._view.plan(frame, time.monotonic(), room, pointer, closed))
        if self._lease.sees:
            await self._send(plan)
        else:
            await self._start_over()

    def _look_for_track(self) -> None:
        """Who shows no films otherwise is shown one by a track, while there is one."""
        tracked = not self._films and self._socket.has_track
        self._view.films = MAX_FILMS if self._films else int(tracked)
        if tracked and self._socket.take_lost():
            self._view.refresh()

    @property
    def _may_look(self) -> bool:
        return self._visible and bool(self._lease.sees) and self._screen.running and self._window.is_open

    def _has_news(self, now: float) -> bool:
        due = self._view.due_at
        return self._screen.is_ahead or self._view.is_behind or (due is not None and due <= now)

    async def _wait(self, begun: float) -> None:
        """Until there is news, or something is due although there is none; but not right after what began at `begun`."""
        due = self._view.due_at if self._may_look else None
        with suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(0.0, due - time.monotonic())):
                await self._news.wait()
        await self._pause(begun)

    async def _pause(self, begun: float) -> None:
        """Let some time pass since then; less from the moment that this viewer drives."""
        while (left := begun + self._least - time.monotonic()) > 0:
            self._turned.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._turned.wait()

    @property
    def _least(self) -> float:
        """Seconds from one frame to the next, at least."""
        return WATCH_SECONDS if self._caller.person and not self._lease.drives else FRAME_SECONDS

    async def _tell(self) -> None:
        """What is no pixel."""
        await self._keep_to_lease()
        if self._screen.running != self._running:
            self._running = self._screen.running
            await self._socket.send(wire.desktop(running=self._running))
        if not self._lease.sees:
            self._copies = self._screen.copies
            return
        if self._screen.cursor is not None and self._screen.cursor != self._cursor:
            self._cursor = shown = self._screen.cursor
            await self._socket.send(wire.cursor(shown.hot, (shown.width, shown.height), compress(shown.pixels)))
        if not self._lease.drives and self._screen.pointer != self._pointer:
            self._pointer = self._screen.pointer
            await self._socket.send(wire.pointer(*self._pointer))
        for act in await self._acting.news():
            if self._lease.programs and not self._lease.drives:
                await self._socket.send(act.message())
        if self._screen.copies != self._copies:
            self._copies = self._screen.copies
            self._tasks.start(self._tell_copied(), name="clipboard to viewer")

    async def _tell_copied(self) -> None:
        """What was copied may be a password: who may not act is not told."""
        if not self._caller.may("control"):
            return
        with suppress(Unavailable):
            forms = await self._hands.copied()
            if self._lease.sees and (message := self._clippings.news(forms)):
                await self._socket.send(message)

    async def _tell_heard(self, message: bytes) -> None:
        if self._lease.sees:
            await self._socket.send(message)

    @property
    def _held_rights(self) -> int:
        hidden = wire.HIDDEN if self._lease.sees is False else 0
        if not self._caller.may("control"):
            return hidden
        return hidden | wire.MAY_ACT | self._speaks | (wire.DRIVES if self._lease.drives else 0)

    async def _keep_to_lease(self) -> None:
        if not self._lease.drives and self._hands.holds:
            with suppress(Unavailable):
                await self._hands.let_go()
        if (self._told or self._lease.sees is False) and self._rights != self._held_rights:
            self._rights = self._held_rights
            await self._socket.send(wire.rights(self._rights))

    async def _send(self, plan: Plan) -> None:
        if plan.size or not self._told:
            await self._greet(*(plan.size or self._view.size))
        if not plan:
            return
        self._view.sent(plan.frame)
        started, size = 0.0, 0
        async for message in self._encoders.messages(plan, self._rate.bits, tracked=not self._films):
            started = started or time.monotonic()
            size += len(message)
            await self._socket.send(message)
        self._window.sent(plan.frame, size, started, time.monotonic())

    async def _greet(self, width: int, height: int) -> None:
        if self._told:
            await self._socket.send(wire.size(width, height))
        else:
            self._told = True
            self._rights = self._held_rights
            await self._socket.send(wire.hello(self._session, self._rights, width, height))
