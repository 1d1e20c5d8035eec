"""The windows on the screen, as the window manager reports them (EWMH, Extended Window Manager Hints 1.5)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from Xlib import Xatom, error

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.window_changes import WindowPlace, WindowState, close, set_place, set_state
from sandbox_server.drivers.x11.window_focus import activate, focus_at
from sandbox_server.drivers.x11.window_properties import atom, last_numbers, numbers, text

MAX_WINDOWS = 200
MAX_TITLE = 500
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class X11Window:
    """A top-level window: the position of its content in pixels, and its properties."""

    xid: int
    title: str
    program: str
    """Its class, such as `Chromium`."""
    pid: int | None
    dialog: bool
    focused: bool
    hidden: bool
    """Minimised, or on another desktop."""
    state: WindowState
    x: int
    y: int
    width: int
    height: int


class X11Windows:
    """The windows of the display behind `connection`."""

    def __init__(self, connection: X11Connection) -> None:
        self._connection = connection

    async def all(self) -> list[X11Window]:
        """Return all windows from the topmost to the lowest, at most MAX_WINDOWS."""
        return await self._connection.call(_all)

    async def focused_program(self) -> str:
        """Return the class of the focused window; empty if there is none."""
        return await self._connection.call(_focused_program)

    async def manager(self) -> str | None:
        """Return the name of the running window manager; None if there is none (EWMH `_NET_SUPPORTING_WM_CHECK`)."""
        return await self._connection.call(_manager)

    async def read(self, xid: int) -> X11Window:
        """Return the window of an id. Raises Conflict if it is gone."""
        return await self._connection.call(lambda display: _read_window(display, xid))

    async def activate(self, xid: int) -> X11Window:
        """Ask the window manager to raise and focus a window.

        It does so asynchronously. Raises Conflict if it is gone.
        """
        await self._connection.call(lambda display: activate(display, xid))
        return await self.read(xid)

    async def set_state(self, xid: int, state: WindowState) -> None:
        """Ask the window manager for a state, which it gives asynchronously. Raises Conflict if the window is gone."""
        await self._ask(xid, lambda display: set_state(display, xid, state))

    async def set_place(self, xid: int, place: WindowPlace) -> None:
        """Ask it to move and resize a window, as it does asynchronously. Raises Conflict if the window is gone."""
        await self._ask(xid, lambda display: set_place(display, xid, place))

    async def close(self, xid: int) -> None:
        """Ask a window's program to close it, which it may refuse. Raises Conflict if the window is gone."""
        await self._ask(xid, lambda display: close(display, xid))

    async def _ask(self, xid: int, ask: Callable[[Display], None]) -> None:
        await self.read(xid)
        with _gone(xid):
            await self._connection.call(ask)

    async def focus_at(self, x: int, y: int) -> None:
        """Focus and raise the window at a point of the screen, in pixels, as a click there does. Raises Unavailable without a display."""
        await self._connection.call(lambda display: focus_at(display, x, y))


def _all(display: Display) -> list[X11Window]:
    stacked = last_numbers(display.screen().root, atom(display, "_NET_CLIENT_LIST_STACKING"), MAX_WINDOWS)
    found: list[X11Window] = []
    for xid in reversed(stacked):
        try:
            found.append(_read_window(display, xid))
        except Conflict:  # it was closed since the window manager listed it
            continue
    return found


@contextmanager
def _gone(xid: int) -> Iterator[None]:
    """Raise the X server's error for a window that does not exist as Conflict."""
    try:
        yield
    except (error.BadWindow, error.BadDrawable):
        raise Conflict(f"the window {xid:#x} is gone: read the elements again") from None


def _read_window(display: Display, xid: int) -> X11Window:
    window = display.create_resource_object("window", xid)
    with _gone(xid):
        geometry = window.get_geometry()
        corner = window.translate_coords(display.screen().root, 0, 0)
        return _window(display, window, geometry, corner)


def _manager(display: Display) -> str | None:
    """Return the window manager's name. Its mark on the root window is valid only while the named window exists."""
    for xid in _values(display, display.screen().root, "_NET_SUPPORTING_WM_CHECK"):
        window = display.create_resource_object("window", xid)
        try:
            return _title(display, window) if xid in _values(display, window, "_NET_SUPPORTING_WM_CHECK") else None
        except error.BadWindow:
            return None
    return None


def _window(display: Display, window: Any, geometry: Any, corner: Any) -> X11Window:
    states = _values(display, window, "_NET_WM_STATE")
    kinds = _values(display, window, "_NET_WM_WINDOW_TYPE")
    pids = _values(display, window, "_NET_WM_PID")
    return X11Window(
        xid=window.id,
        title=_title(display, window),
        program=_program(window),
        pid=pids[0] if pids else None,
        dialog=atom(display, "_NET_WM_WINDOW_TYPE_DIALOG") in kinds,
        focused=window.id in _values(display, display.screen().root, "_NET_ACTIVE_WINDOW"),
        hidden=atom(display, "_NET_WM_STATE_HIDDEN") in states,
        state=_state(display, states),
        x=-corner.x,
        y=-corner.y,
        width=geometry.width,
        height=geometry.height,
    )


def _state(display: Display, states: list[int]) -> WindowState:
    if atom(display, "_NET_WM_STATE_HIDDEN") in states:
        return "minimized"
    if atom(display, "_NET_WM_STATE_FULLSCREEN") in states:
        return "fullscreen"
    maximized = {atom(display, "_NET_WM_STATE_MAXIMIZED_VERT"), atom(display, "_NET_WM_STATE_MAXIMIZED_HORZ")}
    return "maximized" if maximized <= set(states) else "normal"


def _title(display: Display, window: Any) -> str:
    value = text(window, atom(display, "_NET_WM_NAME")) or text(window, Xatom.WM_NAME)
    return value.decode("utf-8", "replace")[:MAX_TITLE]


def _program(window: Any) -> str:
    """The second of the two names in its class (ICCCM 2.0, section 4.1.2.5)."""
    names = text(window, Xatom.WM_CLASS).split(b"\0")
    return names[1].decode("latin-1")[:MAX_TITLE] if len(names) > 1 else ""


def _focused_program(display: Display) -> str:
    focus: Any = display.get_input_focus().focus
    if isinstance(focus, int):  # nothing, or the root window
        return ""
    try:
        return _program_above(focus)
    except error.BadWindow:
        return ""


def _program_above(window: Any) -> str:
    """Return the class of the window, or of its nearest ancestor with one: the focus may be on a part of a program's window."""
    for _ in range(_MAX_DEPTH):
        if not window:
            return ""
        if program := _program(window):
            return program
        window = window.query_tree().parent
    return ""


def _values(display: Display, window: Any, name: str) -> list[int]:
    return numbers(window, atom(display, name))
