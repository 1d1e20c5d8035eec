"""The pointer's picture, which viewers draw themselves: it is not in the pixels, so that it follows the hand at once."""

import struct
from dataclasses import dataclass

from sandbox_server.drivers.x11.connection import Display

MAX_PIXELS = 1 << 20
"""Of a pointer's picture; one that is larger is not shown."""


@dataclass(frozen=True, slots=True)
class CursorImage:
    """What the pointer looks like: pixels of blue, green, red and alpha, which is multiplied in; and the one of them that points."""

    width: int
    height: int
    hot: tuple[int, int]
    pixels: bytes


def read_cursor(display: Display) -> CursorImage:
    """Ask the X server for it."""
    found = display.xfixes_get_cursor_image(display.screen().root)
    if found.width * found.height > MAX_PIXELS:
        return CursorImage(1, 1, (0, 0), bytes(4))
    pixels = struct.pack(f"<{len(found.cursor_image)}I", *found.cursor_image)
    return CursorImage(found.width, found.height, (found.xhot, found.yhot), pixels)
