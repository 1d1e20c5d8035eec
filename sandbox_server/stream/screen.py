"""The screen, in memory that the X server writes to: taken where it was drawn on, when a viewer has room for it.

Everything here happens on the connection's one thread, so that no picture changes while it is looked at.
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
from sandbox_server.drivers.x11 import raw
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.damage import Area, Damage
from sandbox_server.drivers.x11.shm import Segment
from sandbox_server.stream.acts import Acts
from sandbox_server.stream.cursor import Cursor, cursor_of
from sandbox_server.stream.pixels import Frame

RETRY_SECONDS = 0.2
"""Between two attempts to reach an X server that went away."""
_BYTES_PER_PIXEL = 4


class Watcher(Protocol):
    """Who looks at the screen."""

    def drawn(self, areas: list[Area]) -> None:
        """Take note, on the connection's thread, of what the frame has that it did not have before."""

    def wake(self) -> None:
        """Learn, on the loop, that something is new: pixels, the size, the cursor, or whether there is a desktop."""


class Screen:
    """The screen of the display `name`. While nobody watches, the X server is asked for nothing."""

    def __init__(self, name: str) -> None:
        self._connection = X11Connection(name, opened=self._opened, event=self._on_event, lost=self._lost)
        self._watchers: set[Watcher] = set()
        self._tasks = Tasks()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._retrying: asyncio.Task[None] | None = None
        self._damage: Damage | None = None
        self._segment: Segment | None = None
        self._drawn = False
        self._stale = True
        self.running = False
        self.frame = Frame(0, 0, 0)
        self.cursor: Cursor | None = None
        self.pointer = (0, 0)
        """Where it is, in pixels."""
        self.acts = Acts()
        """What was done while somebody watched."""
        self.copies = 0
        """How often something was put on the clipboard."""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop = None
        await self._tasks.close()
        await self._connection.__aexit__(kind, error, trace)

    async def join(self, watcher: Watcher) -> None:
        """Let a watcher know of everything from now on."""
        self._watchers.add(watcher)
        await self._reach()

    async def leave(self, watcher: Watcher) -> None:
        """Forget a watcher; with the last one goes the damage that the X server keeps for them."""
        self._watchers.discard(watcher)
        if not self._watchers:
            with suppress(Unavailable):
                await self._connection.call(self._rest)

    @property
    def is_ahead(self) -> bool:
        """Whether the screen was drawn on since the frame was taken."""
        return self._drawn or self._stale

    async def look[T](self, work: Callable[[Frame], T]) -> T:
        """Bring the frame up to date, and do `work` with it on the connection's thread. Raises Unavailable while there is no desktop."""
        return await self._connection.call(lambda display: work(self._updated(display)))

    async def _reach(self) -> None:
        try:
            await self._connection.call(self._updated)
        except Unavailable:
            self._lost()

    async def count_acts(self) -> int:
        """How many acts there were by now, those included that the X server has not told yet."""
        with suppress(Unavailable):
            await self._connection.call(lambda display: display.sync())
        return self.acts.after(0)[0]

    async def note_on_page(self, told: Mapping[str, Any]) -> None:
        """Note what was done on a page, past the X server; while nobody watches, nothing is noted."""
        if self._watchers and self.running:
            with suppress(Unavailable):
                await self._connection.call(lambda _: self.acts.on_page(told, int(time.monotonic() * 1000)))
            self._wake_all()

    def _opened(self, display: Display) -> None:
        self._damage = self._segment = None
        self._stale = True
        display.xfixes_query_version()
        root = display.screen().root
        root.change_attributes(event_mask=X.StructureNotifyMask)
        display.xfixes_select_cursor_input(root, 1)
        display.xfixes_select_selection_input(root, display.intern_atom("CLIPBOARD"), 1)
        self.cursor, self.pointer = cursor_of(display), _pointer(display)
        self._set_running(running=True)

    def _lost(self) -> None:
        self._set_running(running=False)
        if self._loop:
            self._loop.call_soon_threadsafe(self._come_back)

    def _come_back(self) -> None:
        if self._watchers and not self.running and not (self._retrying and not self._retrying.done()):
            self._retrying = self._tasks.start(self._retry(), name="reach the X server")

    async def _retry(self) -> None:
        while self._watchers and not self.running:
            await asyncio.sleep(RETRY_SECONDS)
            await self._reach()

    def _set_running(self, *, running: bool) -> None:
        if self.running != running:
            self.running = running
            self._wake()

    def _rest(self, display: Display) -> None:
        """Somebody may have come meanwhile, who needs the damage."""
        if self._damage and not self._watchers:
            self._damage.close()
            self._damage = None
            self._stale = True
            raw.follow(display, follows=False)

    def _on_event(self, display: Display, event: Any) -> None:
        if self._damage and self._damage.is_in(event):
            self._drawn = True
        elif event.type == X.ConfigureNotify:
            self._stale = True
        elif (event.type, getattr(event, "sub_code", None)) == display.extension_event.DisplayCursorNotify:
            self.cursor = cursor_of(display)
        elif found := raw.read(display, event):
            self._note(display, found)
        elif (event.type, getattr(event, "sub_code", None)) == display.extension_event.SetSelectionOwnerNotify:
            self.copies += 1
        elif event.type == X.MappingNotify and self._damage:
            display.refresh_keyboard_mapping(event)
            return
        else:
            return
        self._wake()

    def _note(self, display: Display, what: raw.Raw) -> None:
        """Follow the pointer, and what it and the keyboard do."""
        match what.kind:
            case raw.MOVED:
                self.pointer = _pointer(display)
                self.acts.moved(self.pointer)
            case raw.PRESSED:
                self.acts.pressed(what.detail, self.pointer, what.when)
            case raw.RELEASED:
                self.acts.released(what.detail, self.pointer)
            case raw.KEY_PRESSED if not what.repeated:
                self.acts.key_pressed(what.detail, display.keycode_to_keysym(what.detail, 0), self.pointer, what.when)
            case raw.KEY_RELEASED:
                self.acts.key_released(what.detail)

    def _wake(self) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for watcher in self._watchers:
            watcher.wake()

    def _updated(self, display: Display) -> Frame:
        """The frame as the screen is now. Its size may change at any moment; the X server then refuses to give pixels of the old one."""
        try:
            return self._taken(display)
        except XError:
            self._stale = True
            return self._taken(display)

    def _taken(self, display: Display) -> Frame:
        """It is ahead until every watcher was told: one that looks for news meanwhile would find none, and be woken no more."""
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
            self.acts.reset()
            self.pointer = _pointer(display)
            raw.follow(display, follows=True)
        self._damage.fetch()
        found = display.screen().root.get_geometry()
        size = found.width * found.height * _BYTES_PER_PIXEL
        if self._segment is None or self._segment.size != size:
            if self._segment:
                self._segment.close()
                self._segment = None
            self._segment = Segment(display, size)
        self.frame = Frame(self._segment.address, found.width, found.height)
        self._take([(0, 0, found.width, found.height)])

    def _take(self, areas: list[Area]) -> None:
        """Whole rows, so that they come to lie where they belong."""
        width = self.frame.width
        for top, bottom in _bands(areas, self.frame.height):
            if self._segment:
                self._segment.take(0, top, width, bottom - top, offset=top * width * _BYTES_PER_PIXEL)
        for watcher in list(self._watchers):
            watcher.drawn(areas)


def _pointer(display: Display) -> tuple[int, int]:
    found = display.screen().root.query_pointer()
    return found.root_x, found.root_y


def _bands(areas: list[Area], height: int) -> list[tuple[int, int]]:
    """The rows that the areas have, as bands that neither touch nor overlap."""
    bands: list[tuple[int, int]] = []
    for top, bottom in sorted((max(0, y), min(height, y + tall)) for _, y, _, tall in areas):
        if bands and top <= bands[-1][1]:
            bands[-1] = (bands[-1][0], max(bands[-1][1], bottom))
        elif top < bottom:
            bands.append((top, bottom))
    return bands
