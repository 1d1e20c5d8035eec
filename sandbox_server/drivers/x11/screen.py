"""The screen: its size, which RandR changes at run time, and screenshots."""

import asyncio
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from PIL import Image
from Xlib.ext import randr

from sandbox_server.core.errors import Conflict, ResourceExhausted
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.x11 import screenshot
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.damage import Damage
from sandbox_server.drivers.x11.screenshot import Format, Size, X11Cursor
from sandbox_server.drivers.x11.shm import Segment
from sandbox_server.timeouts import scaled

MIN_SIZE: Size = (64, 64)
MAX_SIZE: Size = (3840, 2160)
MAX_PICTURES = 4
"""Limit of concurrent screenshots. A large one takes 60 MB."""
BUSY_SECONDS = scaled(10.0)
SETTLE_PAUSE = 0.04
"""Seconds between two checks while waiting for the screen to settle."""
MAX_CURSOR_PIXELS = 1 << 20
"""Limit of pixels of a cursor's image. A larger one is left out."""
MAX_MODES = 32
"""Limit of sizes that the X server remembers when the screen follows a window."""
_DOTS_PER_INCH = 96
_BYTES_PER_PIXEL = 4


@dataclass(frozen=True, slots=True)
class ScreenRegion:
    """A region of the screen, in pixels from its top left."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Shot:
    """An encoded image, its size, and the screen's size."""

    body: bytes
    size: Size
    screen: Size


class X11Screen:
    """The screen of the display `name`.

    It has its own connection, so screenshots and input do not wait for each other.
    """

    def __init__(self, name: str) -> None:
        self._connection = X11Connection(name, opened=self._opened)
        self._segment: Segment | None = None
        self._damage: Damage | None = None
        self._life, self._changes = "", 0
        self._wanted: Size | None = None
        self._encoders = ThreadPoolExecutor(2, "pictures")
        self._free = asyncio.Semaphore(MAX_PICTURES)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._connection.__aexit__(kind, error, trace)
        self._encoders.shutdown(wait=False, cancel_futures=True)

    async def size(self) -> Size:
        """Return width and height in pixels."""
        return await self._connection.call(_size)

    async def resize(self, size: Size) -> None:
        """Change the size of the screen, from MIN_SIZE to MAX_SIZE. It is kept over restarts of the X server.

        Raises Conflict for a size that the X server refuses.
        """
        await self._connection.call(lambda display: resize(display, size))
        self._wanted = size

    async def version(self, variant: str) -> str:
        """Return an entity tag of what the screen shows, with its quotes. It changes once something was drawn or the pointer moved."""
        return await self._connection.call(lambda display: self._version(display, variant))

    async def pixels(self) -> tuple[bytes, Size]:
        """Return the whole screen in the format of `Segment.grab`, without the cursor."""
        return await self._connection.call(self._grab_all)

    async def grab(self, region: ScreenRegion | None = None, *, cursor: bool = True) -> tuple[Image.Image, Size]:
        """Return an image of the screen or of a region, and the screen's size."""
        return await self._connection.call(lambda display: self._picture(display, region, cursor=cursor))

    async def shoot(
        self,
        form: Format,
        *,
        quality: int | None = None,
        region: ScreenRegion | None = None,
        scale: float = 1.0,
        size: Size | None = None,
        cursor: bool = True,
    ) -> Shot:
        """Take a screenshot and encode it, scaled by a factor or to a size. Raises ResourceExhausted at the limit of concurrent ones."""
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise ResourceExhausted(f"at most {MAX_PICTURES} screenshots can be taken at once", retry_after=1) from None
        try:
            taken, screen = await self.grab(region, cursor=cursor)
            return await in_thread(_shot, taken, screen, form, quality, size or scale, executor=self._encoders)
        finally:
            self._free.release()

    async def settle(self, quiet: float, timeout: float) -> bool:
        """Wait until nothing has changed for `quiet` seconds. Return False after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        last, _ = await self.pixels()
        since = time.monotonic()
        while (now := time.monotonic()) - since < quiet:
            if now > deadline:
                return False
            await asyncio.sleep(SETTLE_PAUSE)
            latest, _ = await self.pixels()
            if latest != last:
                last, since = latest, time.monotonic()
        return True

    def _opened(self, display: Display) -> None:
        self._segment = None
        self._damage = None
        display.xfixes_query_version()  # before that, the X server refuses requests for the cursor
        if self._wanted and _size(display) != self._wanted:
            resize(display, self._wanted)

    def _version(self, display: Display, variant: str) -> str:
        if self._damage is None:
            self._damage, self._life = Damage(display), secrets.token_hex(4)
        if self._damage.fetch():
            self._changes += 1
        pointer, size = display.screen().root.query_pointer(), _size(display)
        return f'"{self._life}-{self._changes}-{size[0]}x{size[1]}-{pointer.root_x},{pointer.root_y}-{variant}"'

    def _grab_all(self, display: Display) -> tuple[bytes, Size]:
        width, height = _size(display)
        return self._memory(display, width * height * _BYTES_PER_PIXEL).grab(0, 0, width, height), (width, height)

    def _picture(self, display: Display, region: ScreenRegion | None, *, cursor: bool) -> tuple[Image.Image, Size]:
        width, height = _size(display)
        part = _check_region(region, (width, height)) if region else ScreenRegion(0, 0, width, height)
        memory = self._memory(display, width * height * _BYTES_PER_PIXEL)
        taken = screenshot.of_pixels(memory.grab(part.x, part.y, part.width, part.height), (part.width, part.height))
        if cursor:
            screenshot.draw(_cursor(display), taken, (part.x, part.y))
        return taken, (width, height)

    def _memory(self, display: Display, size: int) -> Segment:
        if self._segment is None or self._segment.size != size:
            if self._segment is not None:
                self._segment.close()
                self._segment = None
            self._segment = Segment(display, size)
        return self._segment


def resize(display: Display, size: Size) -> None:
    """Set the screen's size by a mode of its only output (RandR 1.5, sections 5 and 7)."""
    width, height = size
    root = display.screen().root
    limits = randr.get_screen_size_range(root)
    if not (MIN_SIZE[0] <= width <= limits.max_width and MIN_SIZE[1] <= height <= limits.max_height):
        raise Conflict(f"the display does not support the size {width}x{height}")
    display.grab_server()
    try:
        resources = root.xrandr_get_screen_resources()
        crtc, output, stamp = resources.crtcs[0], resources.outputs[0], resources.config_timestamp
        known = {(mode["width"], mode["height"]): mode["id"] for mode in resources.modes}
        mode = known.get(size) or _new_mode(display, output, size)
        display.xrandr_set_crtc_config(crtc, stamp, 0, 0, 0, randr.Rotate_0, [])
        root.xrandr_set_screen_size(width, height, _millimetres(width), _millimetres(height))
        display.xrandr_set_crtc_config(crtc, stamp, 0, 0, mode, randr.Rotate_0, [output])
    finally:
        display.ungrab_server()
        display.sync()


def fit(display: Display, size: Size) -> None:
    """Set the screen's size until the X server ends. Old modes are removed at the limit."""
    if _size(display) != size:
        resize(display, size)
        _forget_modes(display)


def _forget_modes(display: Display) -> None:
    """Remove unused modes, except the X server's first."""
    resources = display.screen().root.xrandr_get_screen_resources()
    used = display.xrandr_get_crtc_info(resources.crtcs[0], resources.config_timestamp).mode
    for mode in resources.modes[1:-MAX_MODES] if len(resources.modes) > MAX_MODES else ():
        if mode["id"] != used:
            display.xrandr_delete_output_mode(resources.outputs[0], mode["id"])
            display.xrandr_destroy_mode(mode["id"])
    display.sync()


def _new_mode(display: Display, output: int, size: Size) -> int:
    name = f"{size[0]}x{size[1]}"
    timing = ("dot_clock", "h_sync_start", "h_sync_end", "h_total", "h_skew", "v_sync_start", "v_sync_end", "v_total", "flags")
    described: Mapping[str, Any] = {"id": 0, "width": size[0], "height": size[1], "name_length": len(name), **dict.fromkeys(timing, 0)}
    made: int = display.screen().root.xrandr_create_mode(described, name).mode
    display.xrandr_add_output_mode(output, made)
    return made


def _size(display: Display) -> Size:
    found = display.screen().root.get_geometry()
    return found.width, found.height


def _cursor(display: Display) -> X11Cursor:
    found = display.xfixes_get_cursor_image(display.screen().root)
    if found.width * found.height > MAX_CURSOR_PIXELS:
        return screenshot.cursor_of([0], (1, 1), (0, 0))
    at = (found.x - found.xhot, found.y - found.yhot)
    return screenshot.cursor_of(list(found.cursor_image), (found.width, found.height), at)


def _check_region(region: ScreenRegion, screen: Size) -> ScreenRegion:
    """Raise Conflict for a region outside the screen, which may have shrunk since it was checked."""
    if region.x + region.width > screen[0] or region.y + region.height > screen[1]:
        raise Conflict(f"the screen has {screen[0]}x{screen[1]} pixels now")
    return region


def _shot(taken: Image.Image, screen: Size, form: Format, quality: int | None, scale: float | Size) -> Shot:
    made = screenshot.resized(taken, scale) if isinstance(scale, tuple) else screenshot.scaled(taken, scale)
    return Shot(screenshot.encode(made, form, quality), made.size, screen)


def _millimetres(pixels: int) -> int:
    return round(pixels * 25.4 / _DOTS_PER_INCH)
