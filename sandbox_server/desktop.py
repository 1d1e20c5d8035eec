"""The window manager's start: the screen gets its size first, so that no window ever sees another."""

import os
import time
from typing import NoReturn

from Xlib import display as xlib
from Xlib.error import DisplayError

from sandbox_server.drivers.x11.screen import resize
from sandbox_server.settings import Display

WAIT_SECONDS = 10.0
POLL_SECONDS = 0.02
BACKGROUND = 0x2B303B
CONFIGURATION = "/opt/tandem/sandbox_server/openbox.xml"


def run(settings: Display) -> NoReturn:
    """Prepare the screen and become the window manager."""
    prepare(_connected(settings.name), settings)
    os.execvpe("openbox", ["openbox", "--sm-disable", "--config-file", CONFIGURATION], os.environ | {"DISPLAY": settings.name})


def prepare(display: xlib.Display, settings: Display) -> None:
    """Give the screen its size and its background, and disconnect."""
    resize(display, (settings.width, settings.height))
    display.screen().root.change_attributes(background_pixel=BACKGROUND)
    display.screen().root.clear_area()
    display.sync()
    display.close()


def _connected(name: str) -> xlib.Display:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return xlib.Display(f"unix/{name}")
        except DisplayError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
