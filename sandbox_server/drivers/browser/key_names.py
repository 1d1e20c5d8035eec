"""Names of keys, as callers write them, made those that Playwright knows."""

_NAMES = {
    "alt": "Alt",
    "altleft": "AltLeft",
    "altright": "AltRight",
    "apps": "ContextMenu",
    "arrowdown": "ArrowDown",
    "arrowleft": "ArrowLeft",
    "arrowright": "ArrowRight",
    "arrowup": "ArrowUp",
    "backspace": "Backspace",
    "capslock": "CapsLock",
    "cmd": "Meta",
    "command": "Meta",
    "contextmenu": "ContextMenu",
    "control": "Control",
    "controlleft": "ControlLeft",
    "controlright": "ControlRight",
    "ctrl": "Control",
    "ctrlleft": "ControlLeft",
    "ctrlright": "ControlRight",
    "del": "Delete",
    "delete": "Delete",
    "down": "ArrowDown",
    "end": "End",
    "enter": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "home": "Home",
    "insert": "Insert",
    "left": "ArrowLeft",
    "meta": "Meta",
    "metaleft": "MetaLeft",
    "metaright": "MetaRight",
    "numlock": "NumLock",
    "option": "Alt",
    "pagedown": "PageDown",
    "pageup": "PageUp",
    "pause": "Pause",
    "pgdn": "PageDown",
    "pgup": "PageUp",
    "printscreen": "PrintScreen",
    "return": "Enter",
    "right": "ArrowRight",
    "scrolllock": "ScrollLock",
    "shift": "Shift",
    "shiftleft": "ShiftLeft",
    "shiftright": "ShiftRight",
    "space": " ",
    "super": "Meta",
    "tab": "Tab",
    "up": "ArrowUp",
    "win": "Meta",
} | {f"f{number}": f"F{number}" for number in range(1, 13)}
_CODES = (
    {f"Key{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    | {f"Digit{digit}" for digit in range(10)}
    | {f"Numpad{digit}" for digit in range(10)}
)


def key_name(text: str) -> str | None:
    """Playwright's name of a key: `enter`, `ctrl`, `PageDown`, `a`, `+`, `é`; None for a word that names none."""
    if len(text) == 1 or text in _CODES:
        return text
    return _NAMES.get(text.lower().replace("_", "").replace("-", ""))


def combination(text: str) -> str | None:
    """Playwright's name of one key or of several at once: `Control+A`, `ctrl+shift+t`, `+`; None where one of them is unknown."""
    names = [*text[:-2].split("+"), "+"] if text.endswith("++") else text.split("+") if len(text) > 1 else [text]
    keys = [key_name(name) for name in names]
    return None if None in keys else "+".join(key for key in keys if key)
