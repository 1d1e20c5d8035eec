"""Starts the window manager after it has set the screen's size, so that no window sees another size."""

import os
import time
from typing import NoReturn

from Xlib import Xatom
from Xlib import display as xlib
from Xlib.error import DisplayError

from sandbox_server.drivers.x11.screen import resize
from sandbox_server.settings import DisplaySettings

WAIT_SECONDS = 10.0
POLL_SECONDS = 0.02
BACKGROUND = 0x2B303B
MARK = "_TANDEM_PREPARED"
"""A property of the root window, set once the screen has its size."""
CONFIGURATION = "/opt/tandem/sandbox_server/boot/openbox.xml"


def run(settings: DisplaySettings) -> NoReturn:
    """Prepare the screen and execute the window manager."""
    prepare(_connect_with_retry(settings.name), settings)
    os.execvpe("openbox", ["openbox", "--sm-disable", "--config-file", CONFIGURATION], os.environ | {"DISPLAY": settings.name})


def prepare(display: xlib.Display, settings: DisplaySettings) -> None:
    """Set the size and the background of a new X server's screen, and disconnect.

    After a restart of the window manager the screen keeps its size, which may have been changed since.
    """
    if not _is_marked(display):
        resize(display, (settings.width, settings.height))
        display.screen().root.change_property(display.intern_atom(MARK), Xatom.INTEGER, 32, [1])
    display.screen().root.change_attributes(background_pixel=BACKGROUND)
    display.screen().root.clear_area()
    display.sync()
    display.close()


def _is_marked(display: xlib.Display) -> bool:
    return display.screen().root.get_full_property(display.intern_atom(MARK), Xatom.INTEGER) is not None


def _connect_with_retry(name: str) -> xlib.Display:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return xlib.Display(f"unix/{name}")
        except DisplayError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
