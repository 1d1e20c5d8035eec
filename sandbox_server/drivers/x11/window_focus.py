"""Focuses and raises windows by the window manager: one that is asked for, and the one that a click is about to hit.

The window manager could see to clicks itself. But it would grab the buttons of every window for that, and while such a
grab holds the pointer, the X server gives the events that wait the position of later motion: under load, clicks hit
another place.
"""

import time
from typing import Any

from Xlib import X, error
from Xlib.protocol import event

from sandbox_server.drivers.x11.connection import Display
from sandbox_server.drivers.x11.window_properties import atom, numbers
from sandbox_server.timeouts import scaled

FOCUSING_BUTTONS = frozenset({1, 2, 3})
"""The others turn the wheel, or go back and forth."""
WAIT_SECONDS = scaled(0.1)
"""Longest wait for the window manager. It refuses the focus to a window that is blocked by its own dialog."""
_POLL_SECONDS = 0.002
_LEVELS = 2
_PAGER = 2
"""The source of a request (EWMH `_NET_ACTIVE_WINDOW`): a pager, whose requests for focus are granted."""


def activate(display: Display, xid: int) -> None:
    """Ask the window manager to raise and focus a window."""
    root = display.screen().root
    window = display.create_resource_object("window", xid)
    asked = event.ClientMessage(window=window, client_type=atom(display, "_NET_ACTIVE_WINDOW"), data=(32, [_PAGER, X.CurrentTime, 0, 0, 0]))
    root.send_event(asked, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
    display.sync()


def focus_at(display: Display, x: int, y: int) -> None:
    """Focus and raise the window that is shown at a point of the screen, unless it has the focus or is not managed, as menus are."""
    try:
        shown = _shown_at(display, x, y)
    except error.BadWindow:  # it was closed meanwhile
        return
    if _active(display) in shown:
        return
    managed = numbers(display.screen().root, atom(display, "_NET_CLIENT_LIST"))
    for xid in shown:
        if xid in managed:
            activate(display, xid)
            _wait_for_focus(display, xid)


def _shown_at(display: Display, x: int, y: int) -> list[int]:
    """Return the window at a point, and the one in it: the window manager puts a frame around those that it manages."""
    root: Any = display.screen().root
    found: list[int] = []
    parent = root
    while parent and len(found) < _LEVELS:
        if parent := parent.translate_coords(root, x, y).child:
            found.append(parent.id)
    return found


def _wait_for_focus(display: Display, xid: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while _active(display) != xid and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _active(display: Display) -> int | None:
    return next(iter(numbers(display.screen().root, atom(display, "_NET_ACTIVE_WINDOW"))), None)
