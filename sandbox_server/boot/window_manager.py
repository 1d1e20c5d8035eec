"""Starts the window manager after it has set the screen's size, so that no window sees another size."""

import os
import time
from pathlib import Path
from typing import NoReturn

from Xlib import display as xlib
from Xlib.error import DisplayError

from sandbox_server.drivers.x11.screen import resize
from sandbox_server.settings import DisplaySettings
from sandbox_server.timeouts import scaled

WAIT_SECONDS = scaled(10.0)
POLL_SECONDS = 0.02
BACKGROUND = 0x2B303B
CONFIGURATION = "/opt/tandem/sandbox_server/boot/openbox.xml"


def run(settings: DisplaySettings, prepared: Path) -> NoReturn:
    """Prepare the screen and execute the window manager."""
    prepare(_connect_with_retry(settings.name), settings, prepared)
    os.execvpe("openbox", ["openbox", "--sm-disable", "--config-file", CONFIGURATION], os.environ | {"DISPLAY": settings.name})


def prepare(display: xlib.Display, settings: DisplaySettings, prepared: Path) -> None:
    """Set the size and the background of a new X server's screen, and disconnect.

    After a restart of the window manager the screen keeps its size, which may have been changed since. The file `prepared` says that this
    X server's screen has its size: a new X server removes it, and the VNC server starts only with it.
    """
    if not prepared.exists():
        resize(display, (settings.width, settings.height))
        prepared.touch()
    display.screen().root.change_attributes(background_pixel=BACKGROUND)
    display.screen().root.clear_area()
    display.sync()
    display.close()


def _connect_with_retry(name: str) -> xlib.Display:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return xlib.Display(f"unix/{name}")
        except DisplayError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
