"""What is done to the desktop, as a viewer is told of it: buttons, drags, the wheel, hotkeys; of text only that somebody types.

Made of the X server's raw events (XInput 2, RawButtonPress and the like), whoever caused them. What a key types is never kept: a keysym is
looked at to tell a hotkey from text, and only the names of hotkeys and of keys that type nothing leave this module.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from Xlib import XK

from sandbox_server.drivers.x11.keysyms import of_key
from sandbox_server.stream import wire

MAX_ACTS = 64
"""Acts that are kept for viewers who are not told yet."""
MAX_PATH = 64
"""Places of a drag that are told; where there are more, every other one is left out."""
DRAG_PIXELS = 6
"""A button that is released further away from where it went down ends a drag."""
TWICE_MS = 400
TWICE_PIXELS = 4
"""Presses of one button so near to each other are one double or triple click, as programs take them by default."""
TYPING_MS = 400
TURN_MS = 80
"""Between two that are told, at least: how many keys there were is nobody's business, and a wheel has many notches."""
LEFT, MIDDLE, RIGHT, UP, DOWN, LEFTWARD, RIGHTWARD, BACK, FORWARD = range(1, 10)
"""What a button did, by X's number of it; those from UP to RIGHTWARD are the wheel."""
DRAGGED, KEYS, TYPED = range(16, 19)
_WHEEL = range(UP, RIGHTWARD + 1)
_BUTTONS = {"left": LEFT, "middle": MIDDLE, "right": RIGHT}
_TURNS = {"up": UP, "down": DOWN, "leftward": LEFTWARD, "rightward": RIGHTWARD}
MOST = 0xFFFF
"""Largest place that a message holds."""
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
"""The bits of `modifiers` in DevTools' Input domain, from the lowest."""
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
"""Keys that type nothing: those of the numeric pad and of a tab backwards have keysyms of their own."""
_WITH_HOT = _ALONE | {0xFF08: "Backspace", 0xFFFF: "Delete", 0x20: "Space"}
"""Those that edit a text are told as keys only where they are part of a hotkey."""
_PLACE = struct.Struct("<HH")

type Position = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EchoedInput:
    """One thing that was done: `what` is a button, DRAGGED, KEYS or TYPED."""

    what: int
    at: Position
    times: int = 1
    """Which click in a row it is."""
    keys: str = ""
    """A hotkey as it is written on keyboards."""
    path: tuple[Position, ...] = ()
    """Where a drag led from the press to the release."""

    def message(self) -> bytes:
        """What tells a viewer."""
        places = b"".join(_PLACE.pack(*place) for place in self.path)
        return wire.acted(self.what, self.times, self.at, places or self.keys.encode())


@dataclass(slots=True)
class _HeldButton:
    button: int
    at: Position
    path: list[Position] = field(default_factory=list)


class InputEchoLog:
    """Follows what is done. Sans-io; times are the X server's, in milliseconds."""

    def __init__(self) -> None:
        self._latest: tuple[int, tuple[EchoedInput, ...]] = (0, ())
        """How many there were, and the last of them; one value, which other threads read."""
        self._modifiers: dict[int, str] = {}
        self._down: _HeldButton | None = None
        self._click = EchoedInput(0, (0, 0))
        self._turning = 0
        self._clicked = self._typed = self._turned = -TYPING_MS

    def after(self, number: int) -> tuple[int, tuple[EchoedInput, ...]]:
        """How many acts there were, and those after the first `number`, as far as they are kept."""
        total, latest = self._latest
        return total, latest[max(0, len(latest) - (total - number)) :]

    def reset(self) -> None:
        """What was held down is not known any more."""
        self._modifiers.clear()
        self._down = None

    def moved(self, at: Position) -> None:
        """The pointer is there now."""
        if self._down and self._down.path[-1] != at:
            self._down.path.append(at)
            if len(self._down.path) > MAX_PATH:
                del self._down.path[1::2]

    def pressed(self, button: int, at: Position, when: int) -> None:
        """A button went down."""
        if button in _WHEEL:
            self._turn(button, at, when)
        elif LEFT <= button <= FORWARD:
            again = self._click.what == button and when - self._clicked <= TWICE_MS and _near(at, self._click.at, TWICE_PIXELS)
            self._click = EchoedInput(button, at, self._click.times % 3 + 1 if again else 1)
            self._clicked = when
            self._down = _HeldButton(button, at, [at])
            self._add(self._click)

    def released(self, button: int, at: Position) -> None:
        """A button went up."""
        down = self._down
        if down and down.button == button:
            self.moved(at)
            self._down = None
            if not all(_near(place, down.at, DRAG_PIXELS) for place in down.path):
                self._add(EchoedInput(DRAGGED, at, path=tuple(down.path)))

    def key_pressed(self, code: int, keysym: int, at: Position, when: int) -> None:
        """A key went down."""
        if modifier := _MODIFIER_OF.get(keysym):
            self._modifiers[code] = modifier
        elif keys := hotkey(frozenset(self._modifiers.values()), keysym):
            self._add(EchoedInput(KEYS, at, keys=keys))
        else:
            self._type(at, when)

    def on_page(self, told: Mapping[str, Any], when: int) -> None:
        """Something was done on a page, past the X server, as the process that owns the browser tells it."""
        at = told["x"], told["y"]
        if not all(0 <= side <= MOST for side in at):
            return
        kind = told["kind"]
        if kind in _BUTTONS:
            self._add(EchoedInput(_BUTTONS[kind], at, max(1, min(told["times"], 3))))
        elif kind in _TURNS:
            self._turn(_TURNS[kind], at, when)
        elif keys := kind == "key" and hotkey(_modifiers_of(told["modifiers"]), of_key(told["key"]) or 0):
            self._add(EchoedInput(KEYS, at, keys=keys))
        elif told.get("key") not in _MODIFIER_KEYS:
            self._type(at, when)

    def key_released(self, code: int) -> None:
        """A key went up."""
        self._modifiers.pop(code, None)

    def _turn(self, button: int, at: Position, when: int) -> None:
        if button != self._turning or when - self._turned >= TURN_MS:
            self._turning, self._turned = button, when
            self._add(EchoedInput(button, at))

    def _type(self, at: Position, when: int) -> None:
        if when - self._typed >= TYPING_MS:
            self._typed = when
            self._add(EchoedInput(TYPED, at))

    def _add(self, act: EchoedInput) -> None:
        number, latest = self._latest
        self._latest = number + 1, (*latest, act)[-MAX_ACTS:]


def hotkey(modifiers: frozenset[str], keysym: int) -> str | None:
    """What a key with these modifiers is called, as in `Ctrl+S` or `Enter`; None where it types or edits a text, or may do so."""
    hot = bool(modifiers & _HOT) and "AltGr" not in modifiers
    name = (_WITH_HOT if hot else _ALONE).get(keysym)
    if name is None and hot and 0x21 <= keysym <= 0x7E:
        name = chr(keysym).upper()
    return name and "+".join([*(each for each in _ORDER if each in modifiers), name])


def _modifiers_of(bits: int) -> frozenset[str]:
    return frozenset(name for bit, name in enumerate(_DEVTOOLS_ORDER) if bits >> bit & 1)


def _near(one: Position, other: Position, pixels: int) -> bool:
    return abs(one[0] - other[0]) <= pixels and abs(one[1] - other[1]) <= pixels
