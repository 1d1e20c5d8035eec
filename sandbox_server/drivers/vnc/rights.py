"""What of a viewer's messages reaches the server: everything for one that has control, the picture alone for one that watches."""

import struct
from collections.abc import Iterator

from sandbox_server.drivers.vnc.messages import BadMessage, Message, Messages, encodings_of

INPUT = frozenset({"key", "pointer", "clipboard", "resize"})
"""What changes something, or takes what was copied."""
EXTENDED_CLIPBOARD = 0xC0A1E5CE - (1 << 32)
"""Pseudo-encoding of a viewer that asks for what was copied, rather than being sent it."""

_POINTER = struct.Struct(">xB")
_KEY = {4: ">xBxxI", 255: ">xxHI"}


def _notices_only() -> bytes:
    """An extended clipboard message: of text I take notices and no contents (capabilities 1 << 24, notify 1 << 27, text 1 << 0)."""
    content = struct.pack(">II", 1 << 24 | 1 << 27 | 1, 0)
    return struct.pack(">Bxxxi", 6, -len(content)) + content


NOTICES_ONLY = _notices_only()


class Rights:
    """One connection's right to act, as messages pass."""

    def __init__(self, *, control: bool) -> None:
        self._control = control
        self._messages = Messages()
        self._keys: set[int] = set()
        self._buttons = 0

    @property
    def pressing(self) -> bool:
        """Whether the viewer holds a key or a button down."""
        return bool(self._keys or self._buttons)

    def pass_on(self, data: bytes) -> bytes:
        """What of these bytes goes on to the server. Raises BadMessage, after which nothing may follow."""
        return b"".join(self._admitted(data))

    def _admitted(self, data: bytes) -> Iterator[bytes]:
        for message in self._messages.feed(data):
            if self._control:
                self._note(message)
                yield message.body
            elif message.kind == "encodings":
                yield _without_clipboard(message)
            elif message.kind not in INPUT:
                yield message.body

    def _note(self, message: Message) -> None:
        if message.kind == "pointer":
            [self._buttons] = _POINTER.unpack_from(message.body)
        elif message.kind == "key":
            down, keysym = struct.unpack_from(_KEY[message.body[0]], message.body)
            (self._keys.add if down else self._keys.discard)(keysym)


def _without_clipboard(message: Message) -> bytes:
    """The message, and one that keeps the server from sending what was copied: it is not on the screen.

    Raises BadMessage for a viewer that only knows the clipboard of old, which is sent unasked.
    """
    if EXTENDED_CLIPBOARD not in encodings_of(message.body):
        raise BadMessage("to watch without control, list the pseudo-encoding of the extended clipboard")
    return message.body + NOTICES_ONLY
