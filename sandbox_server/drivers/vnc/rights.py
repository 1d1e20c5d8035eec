"""Filters a viewer's messages: everything for one that has control, only the picture for one that watches."""

import struct
from collections.abc import Iterator

from sandbox_server.drivers.vnc.messages import BadVncMessage, Messages, VncMessage, encodings_of
from sandbox_server.drivers.x11.keysyms import MODIFIERS

INPUT = frozenset({"key", "pointer", "clipboard", "resize"})
"""Messages that change something, or read the clipboard."""
EXTENDED_CLIPBOARD = 0xC0A1E5CE - (1 << 32)
"""Pseudo-encoding of a viewer that requests clipboard contents instead of getting them unasked."""

_POINTER = struct.Struct(">xxHH")
_FOCUSING = 0b111
_DOWN = {4: 1, 255: 3}
"""The offset of the down flag in a key message, by the message's number."""
_KEY = {4: ">xBxxI", 255: ">xxHI"}


def _notices_only() -> bytes:
    """Return an extended clipboard message: notifications of text without contents (capabilities 1 << 24, notify 1 << 27, text 1 << 0)."""
    content = struct.pack(">II", 1 << 24 | 1 << 27 | 1, 0)
    return struct.pack(">Bxxxi", 6, -len(content)) + content


NOTICES_ONLY = _notices_only()


class VncRights:
    """One connection's right to act."""

    def __init__(self, *, control: bool) -> None:
        self._control = control
        self._messages = Messages()
        self._keys: dict[int, bytes] = {}
        """The held keys, each with the message that releases it."""
        self._modifiers: dict[int, VncMessage] = {}
        """The modifiers that were pressed and not forwarded, because the viewer did not drive."""
        self._buttons = 0
        self._point: tuple[int, int] = (0, 0)

    @property
    def pressing(self) -> bool:
        """Whether the viewer holds a key or a button down."""
        return bool(self._keys or self._buttons)

    def admitted(self, data: bytes) -> Iterator[VncMessage]:
        """Yield the messages to forward to the server. Raises BadVncMessage, which must end the connection."""
        for message in self._messages.feed(data):
            if self._control or message.kind not in INPUT | {"encodings"}:
                yield message
            elif message.kind == "encodings":
                yield VncMessage("encodings", _without_clipboard(message))

    def let_go(self) -> bytes:
        """Return messages that release every key and button that the viewer holds down."""
        keys = b"".join(self._keys.values())
        button = struct.pack(">BBHH", 5, 0, *self._point) if self._buttons else b""
        self._keys.clear()
        self._buttons = 0
        return keys + button

    def focusing_press(self, message: VncMessage) -> tuple[int, int] | None:
        """Return where a message presses the left, middle or right button, before it is noted; None if it does not."""
        if message.kind == "pointer" and _buttons_of(message.body) & ~self._buttons & _FOCUSING:
            x, y = _POINTER.unpack_from(message.body)
            return x, y
        return None

    def note(self, message: VncMessage) -> None:
        """Record what a forwarded message presses and releases."""
        if message.kind == "pointer":
            self._point = _POINTER.unpack_from(message.body)
            self._buttons = _buttons_of(message.body)
        elif message.kind == "key":
            down, keysym = _key_of(message)
            if down:
                self._keys[keysym] = _released(message.body)
            else:
                self._keys.pop(keysym, None)

    def keep(self, message: VncMessage) -> None:
        """Keep a modifier that is pressed and not forwarded, for the input that is forwarded next."""
        if message.kind != "key":
            return
        down, keysym = _key_of(message)
        if not down:
            self._modifiers.pop(keysym, None)
        elif keysym in MODIFIERS:
            self._modifiers[keysym] = message

    def with_kept(self, message: VncMessage) -> list[VncMessage]:
        """Return the modifiers that were kept and are still pressed, and the message, in the order in which they are to be forwarded."""
        if message.kind == "key":
            self._modifiers.pop(_key_of(message)[1], None)
        kept = list(self._modifiers.values())
        self._modifiers.clear()
        return [*kept, message]


def means_to_act(message: VncMessage) -> bool:
    """Whether an input presses a key or button or turns the wheel, rather than moving the pointer, releasing or pressing a modifier."""
    if message.kind == "pointer":
        return _buttons_of(message.body) != 0
    if message.kind != "key":
        return False
    down, keysym = _key_of(message)
    return down and keysym not in MODIFIERS


def _key_of(message: VncMessage) -> tuple[bool, int]:
    """Return whether a key message presses, and the key's keysym."""
    down, keysym = struct.unpack_from(_KEY[message.body[0]], message.body)
    return down != 0, keysym


def _buttons_of(pointer: bytes) -> int:
    """Return the pressed buttons. The highest bit means that another byte has more of them."""
    return pointer[1] & 0x7F | pointer[6] << 7 if len(pointer) == 7 else pointer[1]


def _released(key: bytes) -> bytes:
    at = _DOWN[key[0]]
    return key[:at] + b"\0" + key[at + 1 :]


def _without_clipboard(message: VncMessage) -> bytes:
    """Return the message, and one that stops the server from sending clipboard contents, which are not on the screen.

    Raises BadVncMessage for a viewer that only supports the basic clipboard, which is sent unasked.
    """
    if EXTENDED_CLIPBOARD not in encodings_of(message.body):
        raise BadVncMessage("to watch without control, list the pseudo-encoding of the extended clipboard")
    return message.body + NOTICES_ONLY
