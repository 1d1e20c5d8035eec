"""The cursor image. Viewers draw it themselves, so that it follows the mouse at once; it is not in the captured frames."""

import struct
from dataclasses import dataclass

from sandbox_server.drivers.x11.connection import Display

MAX_PIXELS = 1 << 20
"""Largest cursor image; a larger one is not shown."""


@dataclass(frozen=True, slots=True)
class CursorImage:
    """A cursor: pixels of blue, green, red and premultiplied alpha, and its hot spot."""

    width: int
    height: int
    hot: tuple[int, int]
    pixels: bytes


def read_cursor(display: Display) -> CursorImage:
    """Read the current cursor from the X server (XFixes)."""
    found = display.xfixes_get_cursor_image(display.screen().root)
    if found.width * found.height > MAX_PIXELS:
        return CursorImage(1, 1, (0, 0), bytes(4))
    pixels = struct.pack(f"<{len(found.cursor_image)}I", *found.cursor_image)
    return CursorImage(found.width, found.height, (found.xhot, found.yhot), pixels)
