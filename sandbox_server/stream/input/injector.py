"""The input injector: a viewer's pointer, wheel and keys go to the X server by XTest, and nothing stays pressed after it."""

from collections.abc import Sequence

from Xlib import X
from Xlib.ext import xtest

from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.keyboard import SHIFT
from sandbox_server.drivers.x11.keysyms import MODIFIERS, UNICODE
from sandbox_server.drivers.x11.screen import MAX_SIZE, fit
from sandbox_server.drivers.x11.window_focus import FOCUSING_BUTTONS, focus_at
from sandbox_server.stream.wire import Clip, Copied, Fit, Key, PointerInput, TextInput, Wheel

WHEEL_PIXELS = 100
"""What browsers report for one notch of the wheel."""
MAX_NOTCHES = 32
"""Most notches that one message turns the wheel by."""
MAX_HELD = 64
"""Keys that one viewer may hold at once."""
LEAST_SIZE = (320, 240)
"""Least size of a screen that fits a window: programs have little use for less."""
_SHIFTS = frozenset({SHIFT, SHIFT + 1})
_BUTTONS = (1, 2, 3, 8, 9)
"""X's button number for each bit of `PointerInput.buttons`."""
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7

type Event = tuple[int, int, int, int]
"""An XTest event: its kind, key or button, x and y."""
type Input = PointerInput | Wheel | Key | TextInput | Copied | Clip | Fit


def is_active_input(what: Input) -> bool:
    """Whether an input acts: it presses, turns or types something, rather than moves the pointer, releases or presses a modifier."""
    match what:
        case PointerInput():
            return what.buttons != 0
        case Key():
            return what.down and what.keysym not in MODIFIERS
        case Copied() | Clip() | Fit():  # a page offers its clipboard, and its size, as soon as it is looked at
            return False
    return True


class InputInjector:
    """Injects the input of one viewer. `connection` is for input events alone, so that they wait behind nothing else."""

    def __init__(self, desktop: Desktop, connection: X11Connection) -> None:
        self._desktop = desktop
        self._connection = connection
        self._keys: dict[int, int] = {}
        self._shifts: set[int] = set()
        self._buttons = 0
        self._turned = [0, 0]
        self._ready = False

    @property
    def holds(self) -> bool:
        """Whether the viewer holds a key or a button."""
        return bool(self._keys or self._buttons)

    async def inject(self, what: Input) -> None:
        """Inject an input. Raises Unavailable while there is no desktop."""
        if not self._ready:  # the keyboard's connection releases what it finds pressed when it opens: not later, in the middle of a drag
            await self._desktop.keyboard.stroke(SHIFT)
            self._ready = True
        match what:
            case PointerInput():
                await self._point(what)
            case Wheel():
                await self._send(self._turns(what))
            case Key():
                await (self._press(what.keysym) if what.down else self._release(what.keysym))
            case TextInput():
                await self._desktop.typist.type(what.text, use_clipboard=False)
            case Copied():
                await self._desktop.clipboard.write(what.text)
            case Clip():
                await self._desktop.clipboard.put(what.forms)
            case Fit():
                await self._fit(what)

    async def read_clipboard(self) -> dict[str, bytes]:
        """The desktop's clipboard, by format. Raises Unavailable while there is no desktop."""
        return await self._desktop.clipboard.forms()

    async def release_all(self) -> None:
        """Release every key and button that this viewer holds."""
        held = [(X.KeyRelease, code, 0, 0) for code in reversed(self._keys.values())]
        held += [(X.ButtonRelease, button, 0, 0) for bit, button in enumerate(_BUTTONS) if self._buttons >> bit & 1]
        self._keys.clear()
        self._shifts.clear()
        self._buttons = 0
        if held:
            await self._send(held)

    async def _fit(self, window: Fit) -> None:
        """Resize the screen to the viewer's window, within what programs and video encoders can use."""
        width, height = (
            max(least, min(most, side)) & ~1 for side, least, most in zip((window.width, window.height), LEAST_SIZE, MAX_SIZE, strict=True)
        )
        await self._connection.call(lambda display: fit(display, (width, height)))

    async def _point(self, point: PointerInput) -> None:
        changed = self._buttons ^ point.buttons
        self._buttons = point.buttons & (1 << len(_BUTTONS)) - 1
        events = [(X.MotionNotify, 0, point.x, point.y)]
        for bit, button in enumerate(_BUTTONS):
            if changed >> bit & 1:
                events.append((X.ButtonPress if point.buttons >> bit & 1 else X.ButtonRelease, button, 0, 0))
        is_focusing = any(kind == X.ButtonPress and button in FOCUSING_BUTTONS for kind, button, _, _ in events)
        await self._send(events, focus=(point.x, point.y) if is_focusing else None)

    def _turns(self, wheel: Wheel) -> list[Event]:
        events: list[Event] = []
        for axis, (pixels, back, forth) in enumerate(((wheel.dx, _LEFT, _RIGHT), (wheel.dy, _UP, _DOWN))):
            self._turned[axis] += pixels
            notches = int(self._turned[axis] / WHEEL_PIXELS)
            self._turned[axis] -= notches * WHEEL_PIXELS
            button = forth if notches > 0 else back
            events += [(X.ButtonPress, button, 0, 0), (X.ButtonRelease, button, 0, 0)] * min(abs(notches), MAX_NOTCHES)
        return events

    async def _press(self, keysym: int) -> None:
        """Press a key. Shift is pressed or lifted for a moment where the key has the keysym only with it, or only without."""
        if keysym in self._keys or len(self._keys) >= MAX_HELD:
            return
        stroke = await self._desktop.keyboard.stroke(keysym)
        self._keys[keysym] = stroke.code
        press = (X.KeyPress, stroke.code, 0, 0)
        events = [press]
        if keysym in _SHIFTS:
            self._shifts.add(stroke.code)
        elif stroke.shift and not self._shifts:
            code = (await self._desktop.keyboard.stroke(SHIFT)).code
            events = [(X.KeyPress, code, 0, 0), press, (X.KeyRelease, code, 0, 0)]
        elif self._shifts and not stroke.shift and _is_printed(keysym):
            lifted = [(X.KeyRelease, code, 0, 0) for code in self._shifts]
            events = [*lifted, press, *[(X.KeyPress, code, 0, 0) for code in self._shifts]]
        await self._send(events)

    async def _release(self, keysym: int) -> None:
        code = self._keys.pop(keysym, None)
        if code is not None:
            self._shifts.discard(code)
            await self._send([(X.KeyRelease, code, 0, 0)])

    async def _send(self, events: Sequence[Event], focus: tuple[int, int] | None = None) -> None:
        if events:
            await self._connection.call(lambda display: _fake(display, events, focus))


def _is_printed(keysym: int) -> bool:
    """Whether the keysym is a character, which shift changes. With other keys shift is part of what they do."""
    return 0x20 < keysym <= 0xFF or keysym >= UNICODE


def _fake(display: Display, events: Sequence[Event], focus: tuple[int, int] | None) -> None:
    if focus:
        focus_at(display, *focus)
    for kind, detail, x, y in events:
        xtest.fake_input(display, kind, detail, x=x, y=y)
    display.sync()
