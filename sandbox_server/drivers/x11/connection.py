"""One connection to the X server with its own thread, so that a display that hangs never blocks the event loop.

The address is in `display`. The cookie is found through XAUTHORITY, as for every X client.
"""

import asyncio
import select
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from Xlib import display as xlib
from Xlib.error import ConnectionClosedError, DisplayError, XError

from sandbox_server.core.errors import Conflict, Unavailable
from sandbox_server.timeouts import scaled

CALL_SECONDS = scaled(10.0)
"""Seconds that the X server may take to answer. After that the connection is closed."""
RETRY_AFTER = 1.0
"""Seconds after which a desktop that is down is expected back."""

type Display = xlib.Display
type Work[T] = Callable[[Display], T]


class X11Connection:
    """A connection that is made on demand, and again after a restart of the X server.

    `opened` is called first on each new connection, `event` for each event, `lost` after its end.
    """

    def __init__(
        self,
        name: str,
        *,
        opened: Callable[[Display], None] | None = None,
        event: Callable[[Display, Any], None] | None = None,
        lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._name = name
        self._opened = opened
        self._event = event
        self._lost = lost
        self._thread = ThreadPoolExecutor(1, "x11")
        self._display: Display | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watched: int | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._interrupt()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._drop)
        self._thread.shutdown(wait=False)

    async def call[T](self, work: Work[T]) -> T:
        """Run `work` with the display, after earlier calls.

        Raises Unavailable while the X server is down or if it does not answer within `CALL_SECONDS`; the work may be
        done in part then. Raises Conflict if the work's object no longer exists.
        """
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)
        except TimeoutError:
            self._interrupt()
            raise _down("the X server does not answer") from None

    def _run[T](self, work: Work[T]) -> T:
        try:
            display = self._current()
            result = work(display)
            self._dispatch(display)
            return result
        except (ConnectionClosedError, DisplayError, OSError) as error:
            self._drop()
            raise _down("the X server is not running") from error
        except XError as error:
            raise Conflict(f"the desktop has changed ({type(error).__name__}): try again") from error

    def _current(self) -> Display:
        if self._display is not None and _has_closed(self._socket(self._display)):
            self._drop()
        if self._display is None:
            self._display = self._open()
            if self._event and self._loop:  # not before it is current, or the loop would take it for another
                self._loop.call_soon_threadsafe(self._watch, self._display)
        return self._display

    def _open(self) -> Display:
        display = xlib.Display(f"unix/{self._name}")  # by its socket, and never over the network
        display.set_error_handler(_ignore)
        if self._opened:
            self._opened(display)
        return display

    def _drop(self) -> None:
        display, self._display = self._display, None
        if display is None:
            return
        if self._event and self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._unwatch, display)
        else:
            self._socket(display).close()
        self._lost()

    def _interrupt(self) -> None:
        """Close the connection while a thread waits on it."""
        display = self._display
        if display is not None:
            self._shut_down(display)

    def _shut_down(self, display: Display) -> None:
        try:
            self._socket(display).shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended already
            return

    @staticmethod
    def _socket(display: Display) -> socket.socket:
        found: socket.socket = display.display.socket
        return found

    def _watch(self, display: Display) -> None:
        if self._loop and display is self._display and (descriptor := self._socket(display).fileno()) >= 0:
            self._watched = descriptor
            self._loop.add_reader(descriptor, self._readable, display)

    def _unwatch(self, display: Display) -> None:
        self._stop_watching()
        self._socket(display).close()

    def _stop_watching(self) -> None:
        """Stop watching. Xlib may have closed the socket already, without its number."""
        watched, self._watched = self._watched, None
        if self._loop and watched is not None:
            self._loop.remove_reader(watched)

    def _readable(self, display: Display) -> None:
        """Let the thread read events. Until it has, the descriptor is not watched."""
        self._stop_watching()
        self._thread.submit(self._take_events, display)

    def _take_events(self, display: Display) -> None:
        if display is not self._display:
            return
        try:
            self._dispatch(display)
        except (ConnectionClosedError, OSError):
            self._drop()
        else:
            if self._loop:
                self._loop.call_soon_threadsafe(self._watch, display)

    def _dispatch(self, display: Display) -> None:
        while display.pending_events():
            event = display.next_event()
            if self._event:
                self._event(display, event)


def _has_closed(connected: socket.socket) -> bool:
    """Whether the other side has closed. There may be events to read, too."""
    readable, _, _ = select.select([connected], [], [], 0)
    return bool(readable) and connected.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""


def _ignore(_: XError, __: object) -> None:
    """Ignore errors of requests without a reply: their window no longer exists."""


def _down(reason: str) -> Unavailable:
    return Unavailable(f"the desktop cannot be reached: {reason}", retry_after=RETRY_AFTER)
