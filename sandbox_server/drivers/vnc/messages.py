"""Parses a viewer's messages to a VNC server: RFB 3.3 to 3.8 (RFC 6143) and TigerVNC's extensions.

Sans-I/O: bytes in, messages out. The length of an unknown message is unknown, so it ends the connection. So the server
sees the same message borders as this parser.
"""

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

MAX_TEXT = 1 << 20
"""Limit in bytes of a clipboard message. TigerVNC has the same limit."""
MAX_ENCODINGS = 1024
MAX_FENCE = 64
NO_AUTHENTICATION = 1
SHARED = b"\x01"
EXTENDED_BUTTONS = -316
"""Pseudo-encoding of a viewer whose pointer messages have another byte if the highest bit of the buttons is set."""

type Kind = Literal["handshake", "format", "encodings", "update", "fence", "key", "pointer", "clipboard", "resize"]

_VERSION = re.compile(rb"RFB 003\.00([378])\n")
_FIXED: dict[int, tuple[Kind, int]] = {0: ("format", 20), 3: ("update", 10), 4: ("key", 8), 150: ("update", 10)}


class BadVncMessage(ValueError):
    """The viewer sent a malformed message. The text says which."""


@dataclass(frozen=True, slots=True)
class VncMessage:
    """One complete message."""

    kind: Kind
    body: bytes


class Messages:
    """The messages of one connection, from its first byte."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._next: Callable[[], VncMessage | None] = self._version
        self._extended_buttons = False

    def feed(self, data: bytes) -> Iterator[VncMessage]:
        """Take received bytes and yield the complete messages. Raises BadVncMessage."""
        self._waiting += data
        while (message := self._next()) is not None:
            yield message

    def _version(self) -> VncMessage | None:
        body = self._take(12)
        if body is None:
            return None
        found = _VERSION.fullmatch(body)
        if not found:
            raise BadVncMessage("this is not RFB 3.3, 3.7 or 3.8")
        self._next = self._shared if found[1] == b"3" else self._security
        return VncMessage("handshake", body)

    def _security(self) -> VncMessage | None:
        body = self._take(1)
        if body is None:
            return None
        if body[0] != NO_AUTHENTICATION:
            raise BadVncMessage("the gateway has authenticated you: the security type is None")
        self._next = self._shared
        return VncMessage("handshake", body)

    def _shared(self) -> VncMessage | None:
        """Return ClientInit with the shared flag set: exclusive access is not offered."""
        if self._take(1) is None:
            return None
        self._next = self._normal
        return VncMessage("handshake", SHARED)

    def _normal(self) -> VncMessage | None:
        if not self._waiting:
            return None
        kind, length = _FIXED.get(self._waiting[0]) or self._measured(self._waiting[0])
        body = None if length is None else self._take(length)
        if body is not None and kind == "encodings":
            self._extended_buttons = EXTENDED_BUTTONS in encodings_of(body)
        return None if body is None else VncMessage(kind, body)

    def _measured(self, number: int) -> tuple[Kind, int | None]:
        """Return kind and length of a message of variable length; no length while its length field has not arrived."""
        match number:
            case 2:
                return "encodings", self._counted(">xxH", 4, MAX_ENCODINGS, size=4)
            case 5:
                return "pointer", self._pointer()
            case 6:
                return "clipboard", self._text()
            case 248:
                return "fence", self._counted(">8xB", 9, MAX_FENCE, size=1)
            case 251:
                return "resize", self._counted(">6xBx", 8, 255, size=16)
            case 255:
                return "key", self._qemu()
        raise BadVncMessage(f"there is no message {number}")

    def _counted(self, head: str, length: int, most: int, *, size: int) -> int | None:
        """Return the length of a message with a count of parts of `size` bytes in its head."""
        if len(self._waiting) < length:
            return None
        [count] = struct.unpack_from(head, self._waiting)
        if count > most:
            raise BadVncMessage(f"message {self._waiting[0]} has {count} parts, more than {most}")
        return length + int(count) * size

    def _pointer(self) -> int | None:
        if len(self._waiting) < 2:
            return None
        return 7 if self._extended_buttons and self._waiting[1] & 0x80 else 6

    def _text(self) -> int | None:
        """Return the length of a clipboard message. A negative length marks the extended form."""
        if len(self._waiting) < 8:
            return None
        [length] = struct.unpack_from(">4xi", self._waiting)
        if not -MAX_TEXT <= length <= MAX_TEXT:
            raise BadVncMessage(f"the clipboard takes at most {MAX_TEXT} bytes")
        return 8 + abs(int(length))

    def _qemu(self) -> int | None:
        if len(self._waiting) < 2:
            return None
        if self._waiting[1] != 0:
            raise BadVncMessage("of QEMU's messages only keys are taken")
        return 12

    def _take(self, length: int) -> bytes | None:
        if len(self._waiting) < length:
            return None
        body = bytes(self._waiting[:length])
        del self._waiting[:length]
        return body


def encodings_of(body: bytes) -> list[int]:
    """Return the encodings and pseudo-encodings of a SetEncodings message."""
    return list(struct.unpack(f">{(len(body) - 4) // 4}i", body[4:]))
