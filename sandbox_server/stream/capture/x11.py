"""Screen capture from the X server: damage (XDamage) says where it was drawn, and shared memory (MIT-SHM) brings those rows.

All of it happens on the connection's one thread, so no frame changes while it is looked at. A frame is captured when a viewer has room.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

from Xlib import X
from Xlib.error import XError

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11 import raw_events
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.damage import Area, Damage
from sandbox_server.drivers.x11.shm import Segment
from sandbox_server.stream.capture.cursor import CursorImage, read_cursor
from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.input.input_echo import InputEchoLog

RETRY_SECONDS = 0.2
"""Time between two attempts to reconnect to the X server."""
_BYTES_PER_PIXEL = 4


class CaptureListener(Protocol):
    """Learns of what is captured: a viewer."""

    def drawn(self, areas: list[Area]) -> None:
        """Note damage, on the connection's thread: the frame has changed there."""

    def wake(self) -> None:
        """Learn, on the loop, that something has changed: pixels, the size, the cursor, or whether there is a desktop."""


class ScreenCapture:
    """Captures the display `name`. Without listeners the X server is asked for nothing."""

    def __init__(self, name: str) -> None:
        self._connection = X11Connection(name, opened=self._opened, event=self._on_event, lost=self._lost)
        self._listeners: set[CaptureListener] = set()
        self._tasks = Tasks()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._retrying: asyncio.Task[None] | None = None
        self._damage: Damage | None = None
        self._segment: Segment | None = None
        self._drawn = False
        self._stale = True
        self.running = False
        self.frame = CapturedFrame(0, 0, 0)
        self.cursor: CursorImage | None = None
        self.pointer = (0, 0)
        """The pointer's position, in pixels."""
        self.echo_log = InputEchoLog()
        """The input of others, while there are listeners."""
        self.copies = 0
        """How often something was copied to the clipboard."""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop = None
        await self._tasks.close()
        await self._connection.__aexit__(kind, error, trace)

    async def join(self, listener: CaptureListener) -> None:
        """Add a listener."""
        self._listeners.add(listener)
        await self._reach()

    async def leave(self, listener: CaptureListener) -> None:
        """Remove a listener. With the last one the X server's damage tracking ends."""
        self._listeners.discard(listener)
        if not self._listeners:
            with suppress(Unavailable):
                await self._connection.call(self._end_tracking)

    @property
    def is_ahead(self) -> bool:
        """Whether the screen has changed since the frame was captured."""
        return self._drawn or self._stale

    async def look[T](self, work: Callable[[CapturedFrame], T]) -> T:
        """Bring the frame up to date, and do `work` with it on the connection's thread. Raises Unavailable while there is no desktop."""
        return await self._connection.call(lambda display: work(self._current_frame(display)))

    async def _reach(self) -> None:
        try:
            await self._connection.call(self._current_frame)
        except Unavailable:
            self._lost()

    async def count_echoes(self) -> int:
        """How many events the input echo has, after the X server has delivered all that are pending."""
        with suppress(Unavailable):
            await self._connection.call(lambda display: display.sync())
        return self.echo_log.after(0)[0]

    async def note_on_page(self, event: Mapping[str, Any]) -> None:
        """Note input that a page received past the X server. Without listeners nothing is noted."""
        if self._listeners and self.running:
            with suppress(Unavailable):
                await self._connection.call(lambda _: self.echo_log.on_page(event, int(time.monotonic() * 1000)))
            self._wake_all()

    def _opened(self, display: Display) -> None:
        self._damage = self._segment = None
        self._stale = True
        display.xfixes_query_version()
        root = display.screen().root
        root.change_attributes(event_mask=X.StructureNotifyMask)
        display.xfixes_select_cursor_input(root, 1)
        display.xfixes_select_selection_input(root, display.intern_atom("CLIPBOARD"), 1)
        self.cursor, self.pointer = read_cursor(display), _pointer(display)
        self._set_running(running=True)

    def _lost(self) -> None:
        self._set_running(running=False)
        if self._loop:
            self._loop.call_soon_threadsafe(self._come_back)

    def _come_back(self) -> None:
        if self._listeners and not self.running and not (self._retrying and not self._retrying.done()):
            self._retrying = self._tasks.start(self._retry(), name="reach the X server")

    async def _retry(self) -> None:
        while self._listeners and not self.running:
            await asyncio.sleep(RETRY_SECONDS)
            await self._reach()

    def _set_running(self, *, running: bool) -> None:
        if self.running != running:
            self.running = running
            self._wake()

    def _end_tracking(self, display: Display) -> None:
        """End damage tracking, unless a listener was added meanwhile."""
        if self._damage and not self._listeners:
            self._damage.close()
            self._damage = None
            self._stale = True
            raw_events.follow(display, follows=False)

    def _on_event(self, display: Display, event: Any) -> None:
        if self._damage and self._damage.is_in(event):
            self._drawn = True
        elif event.type == X.ConfigureNotify:
            self._stale = True
        elif (event.type, getattr(event, "sub_code", None)) == display.extension_event.DisplayCursorNotify:
            self.cursor = read_cursor(display)
        elif found := raw_events.read(display, event):
            self._note(display, found)
        elif (event.type, getattr(event, "sub_code", None)) == display.extension_event.SetSelectionOwnerNotify:
            self.copies += 1
        elif event.type == X.MappingNotify and self._damage:
            display.refresh_keyboard_mapping(event)
            return
        else:
            return
        self._wake()

    def _note(self, display: Display, what: raw_events.Raw) -> None:
        """Follow the pointer, and add raw input to the echo."""
        match what.kind:
            case raw_events.MOVED:
                self.pointer = _pointer(display)
                self.echo_log.moved(self.pointer)
            case raw_events.PRESSED:
                self.echo_log.pressed(what.detail, self.pointer, what.when)
            case raw_events.RELEASED:
                self.echo_log.released(what.detail, self.pointer)
            case raw_events.KEY_PRESSED if not what.repeated:
                self.echo_log.key_pressed(what.detail, display.keycode_to_keysym(what.detail, 0), self.pointer, what.when)
            case raw_events.KEY_RELEASED:
                self.echo_log.key_released(what.detail)

    def _wake(self) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for listener in self._listeners:
            listener.wake()

    def _current_frame(self, display: Display) -> CapturedFrame:
        """The frame, brought up to date. If the screen is resized meanwhile, the X server refuses to give pixels of the old size."""
        try:
            return self._capture_changes(display)
        except XError:
            self._stale = True
            return self._capture_changes(display)

    def _capture_changes(self, display: Display) -> CapturedFrame:
        """Capture what has changed. `is_ahead` stays true until every listener has the damage, or one that asks meanwhile would miss it."""
        if self._stale or self._segment is None:
            self._start_over(display)
            self._drawn = self._stale = False
        elif self._drawn and self._damage:
            self._take(self._damage.fetch())
            self._drawn = False
        return self.frame

    def _start_over(self, display: Display) -> None:
        if self._damage is None:
            self._damage = Damage(display)
            self.echo_log.reset()
            self.pointer = _pointer(display)
            raw_events.follow(display, follows=True)
        self._damage.fetch()
        found = display.screen().root.get_geometry()
        size = found.width * found.height * _BYTES_PER_PIXEL
        if self._segment is None or self._segment.size != size:
            if self._segment:
                self._segment.close()
                self._segment = None
            self._segment = Segment(display, size)
        self.frame = CapturedFrame(self._segment.address, found.width, found.height)
        self._take([(0, 0, found.width, found.height)])

    def _take(self, areas: list[Area]) -> None:
        """Capture the damaged rows as a whole, so that they lie in memory where they belong."""
        width = self.frame.width
        for top, bottom in _bands(areas, self.frame.height):
            if self._segment:
                self._segment.take(0, top, width, bottom - top, offset=top * width * _BYTES_PER_PIXEL)
        for listener in list(self._listeners):
            listener.drawn(areas)


def _pointer(display: Display) -> tuple[int, int]:
    found = display.screen().root.query_pointer()
    return found.root_x, found.root_y


def _bands(areas: list[Area], height: int) -> list[tuple[int, int]]:
    """The rows of the areas, as bands that neither touch nor overlap."""
    bands: list[tuple[int, int]] = []
    for top, bottom in sorted((max(0, y), min(height, y + tall)) for _, y, _, tall in areas):
        if bands and top <= bands[-1][1]:
            bands[-1] = (bands[-1][0], max(bands[-1][1], bottom))
        elif top < bottom:
            bands.append((top, bottom))
    return bands
