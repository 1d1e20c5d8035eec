"""The pointer: moved, pressed and scrolled by XTest."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from Xlib import X
from Xlib.ext import xtest

from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.window_focus import FOCUSING_BUTTONS, focus_at

type Button = Literal["left", "middle", "right"]
type Point = tuple[int, int]
type Fake = tuple[int, int, int, int] | tuple[int, int, int, int, int]
"""An event's kind, detail, x and y, and optionally its delay in milliseconds."""

NUMBERS: dict[Button, int] = {"left": 1, "middle": 2, "right": 3}
PIXELS_PER_NOTCH = 53
"""The distance that one notch of the wheel scrolls in Chromium on Linux."""
DRAG_STEPS = 12
DRAG_PAUSE = 0.008
"""Seconds between the steps of a drag. Programs do not take a single jump for a drag."""
CLICK_PAUSE = 20
"""Milliseconds before each press but the first. Chromium merges presses with the same X time."""

_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7
_BUTTON_MASKS = {1: X.Button1Mask, 2: X.Button2Mask, 3: X.Button3Mask}


class Pointer:
    """The pointer of the display behind `connection`. `held` has the buttons that may be down: see `Keyboard`."""

    def __init__(self, connection: X11Connection) -> None:
        self._connection = connection
        self.held: list[int] = []

    def forget(self) -> None:
        """Reset the state for a new X server."""
        self.held.clear()

    async def position(self) -> Point:
        """Return its position, in pixels from the top left."""
        return await self._connection.call(_position)

    async def move(self, x: int, y: int) -> None:
        """Move it at once."""
        await self._send([(X.MotionNotify, 0, x, y)])

    async def press(self, button: Button) -> None:
        """Press a button and hold it."""
        number = NUMBERS[button]
        if number not in self.held:
            try:
                await self._send([(X.ButtonPress, number, 0, 0)])
            finally:  # it may be down, whatever became of the call
                self.held.append(number)

    async def release(self, button: Button) -> None:
        """Release a button, whoever pressed it."""
        number = NUMBERS[button]
        await self._send([(X.ButtonRelease, number, 0, 0)])
        self.held = [held for held in self.held if held != number]

    async def release_all(self) -> None:
        """Release all held buttons."""
        if held := list(self.held):
            await self._send([(X.ButtonRelease, number, 0, 0) for number in held])
            self.held = [number for number in self.held if number not in held]

    async def click(self, button: Button, times: int) -> None:
        """Click at its position. Several clicks are fast enough for a double or triple click."""
        await self._send(_clicks(NUMBERS[button], times, CLICK_PAUSE))

    async def drag(self, x: int, y: int) -> None:
        """Move it in steps with the left button down. The button was down before or is released at the end."""
        from_x, from_y = await self.position()
        was_held = NUMBERS["left"] in self.held
        await self.press("left")
        try:
            for step in range(1, DRAG_STEPS + 1):
                await self.move(from_x + (x - from_x) * step // DRAG_STEPS, from_y + (y - from_y) * step // DRAG_STEPS)
                await asyncio.sleep(DRAG_PAUSE)
        finally:
            if not was_held:
                await self.release("left")

    async def scroll(self, dx: int, dy: int) -> None:
        """Turn the wheel by about so many pixels, at least one notch. Positive is right and down."""
        vertical = _clicks(_DOWN if dy > 0 else _UP, _notches(dy))
        await self._send(vertical + _clicks(_RIGHT if dx > 0 else _LEFT, _notches(dx)))

    async def _send(self, events: Sequence[Fake]) -> None:
        await self._connection.call(lambda display: _fake(display, events))


def release_everything(display: Display) -> None:
    """Release what an earlier server left pressed: XTest's keys and buttons outlive their client."""
    mask = display.screen().root.query_pointer().mask
    for number, bit in _BUTTON_MASKS.items():
        if mask & bit:
            xtest.fake_input(display, X.ButtonRelease, number)
    for code, pressed in enumerate(_bits(display.query_keymap())):
        if pressed:
            xtest.fake_input(display, X.KeyRelease, code)
    display.sync()


def _bits(keys: Sequence[int]) -> list[bool]:
    return [bool(byte >> bit & 1) for byte in keys for bit in range(8)]


def _position(display: Display) -> Point:
    found = display.screen().root.query_pointer()
    return found.root_x, found.root_y


def _clicks(number: int, times: int, pause: int = 0) -> list[Fake]:
    presses = [(X.ButtonPress, number, 0, 0, pause if each else 0) for each in range(times)]
    return [event for press in presses for event in (press, (X.ButtonRelease, number, 0, 0))]


def _notches(pixels: int) -> int:
    return -(-abs(pixels) // PIXELS_PER_NOTCH)


def _fake(display: Display, events: Sequence[Fake]) -> None:
    """Send events. The X server itself delays an event, and with it all later events of this connection.

    They are all at one point, so the first press may focus its window for all.
    """
    if any(kind == X.ButtonPress and detail in FOCUSING_BUTTONS for kind, detail, *_ in events):
        focus_at(display, *_position(display))
    for kind, detail, x, y, *pause in events:
        xtest.fake_input(display, kind, detail, x=x, y=y, time=pause[0] if pause else X.CurrentTime)
    display.sync()
