"""The input echo: the clicks, drags, wheel turns and hotkeys of others, as a viewer is shown them. Of text, only that somebody types.

It is built from the X server's raw events (XInput 2, RawButtonPress and the like), whoever caused them. What a key types is never kept. A
keysym tells a hotkey from text, and only the names of hotkeys and of keys that type nothing leave this module.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from Xlib import XK

from sandbox_server.drivers.x11.keysyms import of_key
from sandbox_server.stream import wire

MAX_ECHOES = 64
"""Events that are held for viewers that have not been sent them yet."""
MAX_PATH = 64
"""Positions of a drag that are sent. Where there are more, every other one is dropped."""
DRAG_PIXELS = 6
"""Distance from the press beyond which a release ends a drag."""
TWICE_MS = 400
TWICE_PIXELS = 4
"""Presses of one button so close together are a double or triple click, by the defaults of programs."""
TYPING_MS = 400
TURN_MS = 80
"""Least time between two such events: the number of keys stays private, and a wheel has many notches."""
LEFT, MIDDLE, RIGHT, UP, DOWN, LEFTWARD, RIGHTWARD, BACK, FORWARD = range(1, 10)
"""Button events, by X's number of the button. UP to RIGHTWARD are the wheel."""
DRAGGED, KEYS, TYPED = range(16, 19)
_WHEEL = range(UP, RIGHTWARD + 1)
_BUTTONS = {"left": LEFT, "middle": MIDDLE, "right": RIGHT}
_TURNS = {"up": UP, "down": DOWN, "leftward": LEFTWARD, "rightward": RIGHTWARD}
MOST = 0xFFFF
"""Largest coordinate that a message holds."""
_MODIFIERS = {
    "Control_L": "Ctrl",
    "Control_R": "Ctrl",
    "Alt_L": "Alt",
    "Alt_R": "Alt",
    "Meta_L": "Alt",
    "Meta_R": "Alt",
    "Super_L": "Super",
    "Super_R": "Super",
    "Shift_L": "Shift",
    "Shift_R": "Shift",
    "ISO_Level3_Shift": "AltGr",
    "Mode_switch": "AltGr",
}
_MODIFIER_OF = {XK.string_to_keysym(name) or 0: modifier for name, modifier in _MODIFIERS.items()} | {0xFE03: "AltGr"}
_ORDER = ("Ctrl", "Alt", "Super", "Shift")
_DEVTOOLS_ORDER = ("Alt", "Ctrl", "Super", "Shift")
"""The bits of `modifiers` in the Input domain of the DevTools protocol, from the lowest."""
_MODIFIER_KEYS = frozenset({"Control", "Shift", "Alt", "Meta", "AltGraph"})
_HOT = frozenset({"Ctrl", "Alt", "Super"})
_NAMES = {
    "Return": "Enter",
    "Escape": "Esc",
    "Tab": "Tab",
    "Home": "Home",
    "End": "End",
    "Prior": "Page Up",
    "Next": "Page Down",
    "Up": "↑",
    "Down": "↓",
    "Left": "←",
    "Right": "→",
    "Insert": "Insert",
    "Menu": "Menu",
    "Print": "Print",
    "Pause": "Pause",
    **{f"F{number}": f"F{number}" for number in range(1, 25)},
}
_ALONE = {XK.string_to_keysym(name): shown for name, shown in _NAMES.items()} | {0xFF8D: "Enter", 0xFE20: "Tab"}
"""Keys that type nothing. Enter of the numeric pad and Shift+Tab have keysyms of their own."""
_WITH_HOT = _ALONE | {0xFF08: "Backspace", 0xFFFF: "Delete", 0x20: "Space"}
"""Keys that edit text are named only in hotkeys."""
_POSITION = struct.Struct("<HH")

type Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EchoedInput:
    """One event of the echo. `what` is a button, DRAGGED, KEYS or TYPED."""

    what: int
    at: Position
    times: int = 1
    """1 for a single click, 2 for a double click, 3 for a triple click."""
    keys: str = ""
    """The name of a hotkey, as on keyboards."""
    path: tuple[Position, ...] = ()
    """The positions of a drag, from the press to the release."""

    def message(self) -> bytes:
        """The message that sends it to a viewer."""
        positions = b"".join(_POSITION.pack(*position) for position in self.path)
        return wire.acted(self.what, self.times, self.at, positions or self.keys.encode())


@dataclass(slots=True)
class _HeldButton:
    button: int
    at: Position
    path: list[Position] = field(default_factory=list)


class InputEchoLog:
    """Makes events of raw input and holds the latest. Sans-io; times are the X server's, in milliseconds."""

    def __init__(self) -> None:
        self._latest: tuple[int, tuple[EchoedInput, ...]] = (0, ())
        """How many events there were, and the latest of them. It is one value, as other threads read it."""
        self._modifiers: dict[int, str] = {}
        self._down: _HeldButton | None = None
        self._click = EchoedInput(0, (0, 0))
        self._turning = 0
        self._clicked = self._typed = self._turned = -TYPING_MS

    def after(self, number: int) -> tuple[int, tuple[EchoedInput, ...]]:
        """How many events there were, and those after the first `number`, as far as they are held."""
        total, latest = self._latest
        return total, latest[max(0, len(latest) - (total - number)) :]

    def reset(self) -> None:
        """Forget what is held down: it is not known any more."""
        self._modifiers.clear()
        self._down = None

    def moved(self, at: Position) -> None:
        """Note that the pointer is there now."""
        if self._down and self._down.path[-1] != at:
            self._down.path.append(at)
            if len(self._down.path) > MAX_PATH:
                del self._down.path[1::2]

    def pressed(self, button: int, at: Position, when: int) -> None:
        """Note that a button went down."""
        if button in _WHEEL:
            self._turn(button, at, when)
        elif LEFT <= button <= FORWARD:
            again = self._click.what == button and when - self._clicked <= TWICE_MS and _near(at, self._click.at, TWICE_PIXELS)
            self._click = EchoedInput(button, at, self._click.times % 3 + 1 if again else 1)
            self._clicked = when
            self._down = _HeldButton(button, at, [at])
            self._add(self._click)

    def released(self, button: int, at: Position) -> None:
        """Note that a button went up."""
        down = self._down
        if down and down.button == button:
            self.moved(at)
            self._down = None
            if not all(_near(position, down.at, DRAG_PIXELS) for position in down.path):
                self._add(EchoedInput(DRAGGED, at, path=tuple(down.path)))

    def key_pressed(self, code: int, keysym: int, at: Position, when: int) -> None:
        """Note that a key went down."""
        if modifier := _MODIFIER_OF.get(keysym):
            self._modifiers[code] = modifier
        elif keys := hotkey(frozenset(self._modifiers.values()), keysym):
            self._add(EchoedInput(KEYS, at, keys=keys))
        else:
            self._type(at, when)

    def on_page(self, event: Mapping[str, Any], when: int) -> None:
        """Note input that a page received past the X server (DevTools), as the process that owns the browser reports it."""
        at = event["x"], event["y"]
        if not all(0 <= side <= MOST for side in at):
            return
        kind = event["kind"]
        if kind in _BUTTONS:
            self._add(EchoedInput(_BUTTONS[kind], at, max(1, min(event["times"], 3))))
        elif kind in _TURNS:
            self._turn(_TURNS[kind], at, when)
        elif keys := kind == "key" and hotkey(_modifiers_of(event["modifiers"]), of_key(event["key"]) or 0):
            self._add(EchoedInput(KEYS, at, keys=keys))
        elif event.get("key") not in _MODIFIER_KEYS:
            self._type(at, when)

    def key_released(self, code: int) -> None:
        """Note that a key went up."""
        self._modifiers.pop(code, None)

    def _turn(self, button: int, at: Position, when: int) -> None:
        if button != self._turning or when - self._turned >= TURN_MS:
            self._turning, self._turned = button, when
            self._add(EchoedInput(button, at))

    def _type(self, at: Position, when: int) -> None:
        if when - self._typed >= TYPING_MS:
            self._typed = when
            self._add(EchoedInput(TYPED, at))

    def _add(self, echoed: EchoedInput) -> None:
        number, latest = self._latest
        self._latest = number + 1, (*latest, echoed)[-MAX_ECHOES:]


def hotkey(modifiers: frozenset[str], keysym: int) -> str | None:
    """The name of a key with these modifiers, as in `Ctrl+S` or `Enter`; None where it may type or edit text."""
    hot = bool(modifiers & _HOT) and "AltGr" not in modifiers
    name = (_WITH_HOT if hot else _ALONE).get(keysym)
    if name is None and hot and 0x21 <= keysym <= 0x7E:
        name = chr(keysym).upper()
    return name and "+".join([*(each for each in _ORDER if each in modifiers), name])


def _modifiers_of(bits: int) -> frozenset[str]:
    return frozenset(name for bit, name in enumerate(_DEVTOOLS_ORDER) if bits >> bit & 1)


def _near(one: Position, other: Position, pixels: int) -> bool:
    return abs(one[0] - other[0]) <= pixels and abs(one[1] - other[1]) <= pixels
