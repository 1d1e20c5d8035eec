"""Asks the window manager to move, resize, minimise, maximise or close a window (EWMH 1.5, and ICCCM 2.0 for minimising).

It answers nothing: who asks looks at the window afterwards.
"""

from dataclasses import dataclass
from typing import Literal

from Xlib import X, Xutil
from Xlib.protocol import event

from sandbox_server.drivers.x11.connection import Display
from sandbox_server.drivers.x11.window_focus import activate
from sandbox_server.drivers.x11.window_properties import atom, numbers

type WindowState = Literal["normal", "minimized", "maximized", "fullscreen"]

_PAGER = 2
"""The source of a request: a pager, whose requests are granted."""
_REMOVE, _ADD = 0, 1
_NORTH_WEST_GRAVITY = 1
"""The position is that of the frame that the window manager has put around the window."""
_GIVEN = {"x": 1 << 8, "y": 1 << 9, "width": 1 << 10, "height": 1 << 11}
_STATES = {
    "maximized": ("_NET_WM_STATE_MAXIMIZED_VERT", "_NET_WM_STATE_MAXIMIZED_HORZ"),
    "fullscreen": ("_NET_WM_STATE_FULLSCREEN",),
}


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """Where the content of a window shall be, in pixels of the screen; None for no change."""

    x: int | None = None
    y: int | None = None
    width: int | None = None
    height: int | None = None


def set_state(display: Display, xid: int, state: WindowState) -> None:
    """Ask for a state. All but `minimized` also raise and focus the window.

    The other states are left first: openbox restores what was before the full screen.
    """
    if state == "minimized":
        _send(display, xid, "WM_CHANGE_STATE", Xutil.IconicState)
        return
    activate(display, xid)
    for name, atoms in sorted(_STATES.items(), key=lambda each: each[0] == state):
        first, second = (*(atom(display, each) for each in atoms), 0)[:2]
        _send(display, xid, "_NET_WM_STATE", _ADD if name == state else _REMOVE, first, second, _PAGER)


def set_place(display: Display, xid: int, place: WindowPlace) -> None:
    """Ask for a place and a size. A window that is maximised or in full screen is to be made `normal` before.

    What is asked for is the place of its frame: with the gravity for that of its content, openbox adds the border that it has removed.
    """
    window = display.create_resource_object("window", xid)
    left, _, top, _ = [*numbers(window, atom(display, "_NET_FRAME_EXTENTS")), 0, 0, 0, 0][:4]
    given = {"x": _less(place.x, left), "y": _less(place.y, top), "width": place.width, "height": place.height}
    flags = _NORTH_WEST_GRAVITY | _PAGER << 12 | sum(bit for name, bit in _GIVEN.items() if given[name] is not None)
    _send(display, xid, "_NET_MOVERESIZE_WINDOW", flags, *((given[name] or 0) & 0xFFFFFFFF for name in _GIVEN))


def _less(edge: int | None, frame: int) -> int | None:
    return None if edge is None else edge - frame


def close(display: Display, xid: int) -> None:
    """Ask the window's program to close it. It may ask its user first, or refuse."""
    _send(display, xid, "_NET_CLOSE_WINDOW", X.CurrentTime, _PAGER)


def _send(display: Display, xid: int, name: str, *values: int) -> None:
    root = display.screen().root
    window = display.create_resource_object("window", xid)
    padded = [*values, 0, 0, 0, 0, 0][:5]
    asked = event.ClientMessage(window=window, client_type=atom(display, name), data=(32, padded))
    root.send_event(asked, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
    display.sync()
