"""A real X server, as the drivers' tests have it, and what tests draw on it."""

from collections.abc import AsyncIterator

import pytest
from PIL import Image
from Xlib import X
from Xlib import display as xlib

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.screen import X11Screen as Pictures
from tests.drivers.x11.conftest import XServer, program, xserver

__all__ = ["program", "xserver"]

SIZE = (640, 480)


class Painter:
    """Draws on the screen, over everything, as a program would."""

    def __init__(self, name: str) -> None:
        self._display = xlib.Display(name)
        self._root = self._display.screen().root

    def paint(self, image: Image.Image, at: tuple[int, int] = (0, 0)) -> None:
        """Put a picture on the screen; it is there when this returns."""
        gc = self._root.create_gc(subwindow_mode=X.IncludeInferiors)
        self._root.put_pil_image(gc, *at, image.convert("RGB"))
        gc.free()
        self._display.sync()

    def close(self) -> None:
        """Disconnect."""
        self._display.close()


@pytest.fixture
async def desktop(xserver: XServer) -> AsyncIterator[Desktop]:
    """The desktop of a screen of SIZE."""
    async with Desktop(xserver.name) as opened:
        await opened.screen.resize(SIZE)
        yield opened


@pytest.fixture
async def painter(desktop: Desktop, xserver: XServer) -> AsyncIterator[Painter]:
    """Somebody who draws on that screen."""
    painter = Painter(xserver.name)
    yield painter
    painter.close()


async def shot(pictures: Pictures) -> bytes:
    """The screen's pixels now, as the X server's other clients get them."""
    image, _ = await pictures.grab(cursor=False)
    return image.tobytes()
