"""A window on the screen as the API shows it, and the waits for a window manager, which acts asynchronously."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict

from sandbox_server.core import Conflict, Model
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.window_changes import WindowState
from sandbox_server.drivers.x11.windows import X11Window
from sandbox_server.timeouts import scaled

ACT_SECONDS = scaled(2.0)
"""Seconds for a window manager to do what it was asked for."""
ACT_PAUSE = 0.01
REST_PAUSE = 0.05


class WindowOnScreen(Model):
    ref: str
    """Its reference, valid while it is open."""
    title: str
    program: str
    """The window class, such as `Chromium`."""
    pid: int | None
    dialog: bool
    focused: bool
    """Whether it has the keyboard focus."""
    hidden: bool
    """Minimised."""
    state: WindowState
    x: int
    """Left edge of its content, in pixels of the screen."""
    y: int
    """Top edge of its content, in pixels of the screen."""
    width: int
    """In pixels."""
    height: int
    """In pixels."""


def on_screen(window: X11Window) -> WindowOnScreen:
    """The window with its reference."""
    fields = asdict(window)
    return WindowOnScreen(ref=f"w{fields.pop('xid'):x}", **fields)


def is_browser(window: X11Window | WindowOnScreen) -> bool:
    """Whether it is a window of Chromium, by its class."""
    return "chrom" in window.program.lower()


def xid_of(ref: str) -> int:
    """The id at the X server of a reference to a window."""
    return int(ref[1:], 16)


async def raised(desktop: Desktop, xid: int) -> X11Window:
    """Raise and focus a window. Raises Conflict if it is gone, or is not raised within ACT_SECONDS."""
    await desktop.windows.activate(xid)
    window, done = await became(desktop, xid, lambda window: window.focused and not window.hidden)
    if not done:
        raise Conflict(f"the window {window.title!r} could not be brought to the front")
    return window


async def became(desktop: Desktop, xid: int, wanted: Callable[[X11Window], bool], pause: float = ACT_PAUSE) -> tuple[X11Window, bool]:
    """Return the window once it is as wanted, or as it is after ACT_SECONDS, and whether it is as wanted.

    Raises Conflict if it is gone.
    """
    deadline = asyncio.get_running_loop().time() + ACT_SECONDS
    while not wanted(window := await desktop.windows.read(xid)):
        if asyncio.get_running_loop().time() >= deadline:
            return window, False
        await asyncio.sleep(pause)
    return window, True


async def came_to_rest(desktop: Desktop, xid: int, wanted: Callable[[X11Window], bool]) -> tuple[X11Window, bool]:
    """Do as `became`, and wait until two looks at REST_PAUSE give the same: a window manager sets a state before it moves the window."""
    before = None

    def rests(window: X11Window) -> bool:
        nonlocal before
        seen, before = before, window
        return seen == window and wanted(window)

    return await became(desktop, xid, rests, pause=REST_PAUSE)
