"""One viewer: its messages in, frames out as fast as it takes them. No viewer waits for another."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.damage import Area
from sandbox_server.stream import wire
from sandbox_server.stream.cursor import Cursor
from sandbox_server.stream.encode import Encoders
from sandbox_server.stream.hands import Input
from sandbox_server.stream.pixels import Frame
from sandbox_server.stream.screen import Screen
from sandbox_server.stream.view import Plan, View
from sandbox_server.stream.window import Window
from sandbox_server.stream.zstd import compress

FRAME_SECONDS = 1 / 60
"""Between the beginnings of two frames, at least: screens show no more."""


class Socket(Protocol):
    """What carries messages to and from a viewer."""

    async def send(self, message: bytes) -> None:
        """Send one, as soon as there is room for it."""

    async def receive(self) -> bytes | None:
        """The next of the viewer's; None when it has gone."""


class HandsOn(Protocol):
    """What a viewer does to the desktop."""

    async def do(self, what: Input) -> None: ...
    async def let_go(self) -> None: ...


class Viewer:
    """One viewer of the screen. `may_act` says, whenever something is to be done to the desktop, whether that counts."""

    def __init__(
        self, socket: Socket, screen: Screen, hands: HandsOn, encoders: Encoders, may_act: Callable[[], bool], session: int
    ) -> None:
        self._socket = socket
        self._screen = screen
        self._hands = hands
        self._encoders = encoders
        self._may_act = may_act
        self._session = session
        self._view = View()
        self._window = Window()
        self._news = asyncio.Event()
        self._visible = True
        self._greeted = False
        self._frame = 0
        self._cursor: Cursor | None = None
        self._running = True

    def drawn(self, areas: list[Area]) -> None:
        """Note that the screen was drawn on there."""
        self._view.drawn(areas)

    def wake(self) -> None:
        """Look what is new."""
        self._news.set()

    async def run(self) -> None:
        """Serve the viewer until it leaves. Raises BadMessage if it sends what is no message."""
        try:
            await self._screen.join(self)
            async with Tasks() as tasks:
                ends = {tasks.start(self._listen(), name="viewer to desktop"), tasks.start(self._show(), name="desktop to viewer")}
                ended, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for end in ended:
                    end.result()
        finally:
            with suppress(Unavailable):
                await self._hands.let_go()
            await self._screen.leave(self)

    async def _listen(self) -> None:
        while (message := await self._socket.receive()) is not None:
            await self._take(wire.parse(message))

    async def _take(self, message: wire.FromViewer) -> None:
        match message:
            case wire.Hello():
                if message.version != wire.VERSION:
                    raise wire.BadMessage(f"this server speaks version {wire.VERSION}")
                self._greeted = True
            case wire.Ack():
                self._window.acked(message.frame, time.monotonic())
            case wire.Ping():
                await self._socket.send(wire.pong(message.number))
            case wire.Visible():
                self._visible = message.visible
            case wire.Whole():
                await self._start_over()
            case _:
                await self._act(message)
        self._news.set()

    async def _act(self, what: wire.Point | wire.Wheel | wire.Key | wire.Text | wire.Copied) -> None:
        if not self._may_act():
            return
        with suppress(Unavailable):  # there is no desktop to do it to
            await self._hands.do(what)

    async def _start_over(self) -> None:
        with suppress(Unavailable):
            await self._screen.look(lambda _: self._view.restart())

    async def _show(self) -> None:
        """Send what is new, whenever something is."""
        begun = 0.0
        while True:
            await self._wait(begun)
            begun = time.monotonic()
            self._news.clear()
            if not self._greeted:
                continue
            await self._tell()
            if self._may_look and self._has_news(begun):
                with suppress(Unavailable):
                    await self._send(await self._screen.look(lambda frame: self._plan(frame, time.monotonic())))

    @property
    def _may_look(self) -> bool:
        return self._visible and self._screen.running and self._window.is_open

    def _has_news(self, now: float) -> bool:
        due = self._view.repay_at
        return self._screen.is_ahead or self._view.is_behind or (due is not None and due <= now)

    async def _wait(self, begun: float) -> None:
        """Until there is news, or a picture has been still for long enough to be repaid; but not right after the frame before."""
        repay = self._view.repay_at if self._may_look else None
        with suppress(TimeoutError):
            async with asyncio.timeout(None if repay is None else max(0.0, repay - time.monotonic())):
                await self._news.wait()
        await asyncio.sleep(max(0.0, begun + FRAME_SECONDS - time.monotonic()))

    def _plan(self, frame: Frame, now: float) -> Plan:
        plan = self._view.plan(frame, now)
        due = self._view.repay_at
        return plan or (self._view.repay(frame) if due is not None and due <= now else plan)

    async def _tell(self) -> None:
        """What is no pixel."""
        if self._screen.running != self._running:
            self._running = self._screen.running
            await self._socket.send(wire.desktop(running=self._running))
        if self._screen.cursor is not None and self._screen.cursor != self._cursor:
            self._cursor = shown = self._screen.cursor
            await self._socket.send(wire.cursor(shown.hot, (shown.width, shown.height), compress(shown.pixels)))

    async def _send(self, plan: Plan) -> None:
        if plan.size:
            await self._greet(*plan.size)
        if not plan:
            return
        self._frame = (self._frame + 1) & 0xFFFFFFFF
        started, size = time.monotonic(), 0
        async for message in self._encoders.messages(self._frame, plan):
            size += len(message)
            await self._socket.send(message)
        self._window.sent(self._frame, size, started)

    async def _greet(self, width: int, height: int) -> None:
        if self._frame:
            await self._socket.send(wire.size(width, height))
        else:
            rights = wire.HOLDS_CONTROL if self._may_act() else 0
            await self._socket.send(wire.hello(self._session, rights, width, height))
