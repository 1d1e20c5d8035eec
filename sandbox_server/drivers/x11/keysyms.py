"""Names of keys, and the keysym of each character (X11 protocol, appendix A)."""

from Xlib import XK

UNICODE = 0x01000000
"""Added to a character's code point if it has no keysym of its own."""
MODIFIERS = frozenset(
    XK.string_to_keysym(name)
    for name in (*(f"{key}_{side}" for key in ("Shift", "Control", "Meta", "Alt", "Super", "Hyper") for side in "LR"), "ISO_Level3_Shift")
)
"""Keys that do nothing while no other is pressed. Locks are none: they change something by themselves."""

_CONTROL_CHARACTERS = {"\n": 0xFF0D, "\r": 0xFF0D, "\t": 0xFF09, "\b": 0xFF08, "\x1b": 0xFF1B, "\x7f": 0xFFFF}

_NAMES = {
    "enter": "Return",
    "return": "Return",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "backspace": "BackSpace",
    "delete": "Delete",
    "del": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "Prior",
    "pgup": "Prior",
    "page_up": "Prior",
    "pagedown": "Next",
    "pgdn": "Next",
    "page_down": "Next",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "arrowup": "Up",
    "arrowdown": "Down",
    "arrowleft": "Left",
    "arrowright": "Right",
    "space": "space",
    "ctrl": "Control_L",
    "control": "Control_L",
    "ctrlleft": "Control_L",
    "ctrlright": "Control_R",
    "shift": "Shift_L",
    "shiftleft": "Shift_L",
    "shiftright": "Shift_R",
    "alt": "Alt_L",
    "altleft": "Alt_L",
    "altright": "Alt_R",
    "option": "Alt_L",
    "win": "Super_L",
    "winleft": "Super_L",
    "winright": "Super_R",
    "super": "Super_L",
    "meta": "Super_L",
    "cmd": "Super_L",
    "command": "Super_L",
    "apps": "Menu",
    "contextmenu": "Menu",
    "capslock": "Caps_Lock",
    "numlock": "Num_Lock",
    "scrolllock": "Scroll_Lock",
    "pause": "Pause",
    "print": "Print",
    "printscreen": "Print",
    "prtsc": "Print",
    "prtscr": "Print",
    "prntscrn": "Print",
    "add": "KP_Add",
    "subtract": "KP_Subtract",
    "multiply": "KP_Multiply",
    "divide": "KP_Divide",
    "decimal": "KP_Decimal",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
    **{f"num{number}": f"KP_{number}" for number in range(10)},
}
"""Key names of pyautogui and browsers, in lower case, with X's names."""


def of_character(character: str) -> int:
    """Return the keysym of one character."""
    if character in _CONTROL_CHARACTERS:
        return _CONTROL_CHARACTERS[character]
    code = ord(character)
    return code if 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xFF else UNICODE | code


def of_key(name: str) -> int | None:
    """Return the keysym of a key: a character, a name of pyautogui or the browser in any case, or X's own name; None if unknown."""
    if len(name) == 1:
        return of_character(name)
    known = _NAMES.get(name.lower().replace(" ", ""), name)
    return XK.string_to_keysym(known) or None
