"""The messages of the server: how each is serialized."""

import struct
from collections.abc import Mapping, Sequence

from sandbox_server.stream.wire.clipboard_formats import packed

VERSION = 1
MAY_ACT = 1
"""Bit of the rights in `hello` and `rights`: this viewer's mouse and keyboard count, or may take control."""
DRIVES = 2
"""Another bit: they count now."""
HIDDEN = 4
"""Another bit: a person is in private mode, and this viewer is shown nothing until that ends."""
MAY_SPEAK = 8
"""Another bit: the desktop has a microphone, which hears this viewer while it drives."""

HELLO, SIZE, PART, CURSOR, POINTER, PONG, RIGHTS, CLIPBOARD, DESKTOP, SOUND, SIGNAL = range(1, 12)
CLIP, SOUNDS, PICTURE, ACTED = range(12, 16)
LAST = 1
"""Flag of the part that ends a frame."""


def hello(session: int, rights: int, width: int, height: int) -> bytes:
    """`hello`: the server's first message."""
    return struct.pack("<BBBIHH", HELLO, VERSION, rights, session, width, height)


def size(width: int, height: int) -> bytes:
    """`size`: the screen has another size now, and the viewer has nothing of it."""
    return struct.pack("<BHH", SIZE, width, height)


def part(frame: int, operations: bytes, *, last: bool) -> bytes:
    """`part`: some operations of a frame."""
    return struct.pack("<BBI", PART, LAST if last else 0, frame) + operations


def cursor(hot: tuple[int, int], extent: tuple[int, int], packed: bytes) -> bytes:
    """`cursor`: the cursor image, as compressed pixels of blue, green, red and premultiplied alpha."""
    return struct.pack("<BHHHHI", CURSOR, *extent, *hot, len(packed)) + packed


def pointer(x: int, y: int) -> bytes:
    """`pointer`: somebody else has moved the pointer there."""
    return struct.pack("<BHH", POINTER, x, y)


def pong(number: int) -> bytes:
    """`pong`: the answer to a `Ping`."""
    return struct.pack("<BI", PONG, number)


def rights(held: int) -> bytes:
    """`rights`: what this viewer may do from now on."""
    return struct.pack("<BB", RIGHTS, held)


def clipboard(text: str) -> bytes:
    """`clipboard`: text that was copied on the desktop."""
    return bytes([CLIPBOARD]) + text.encode()


def sound(number: int, packet: bytes) -> bytes:
    """`sound`: the next 20 ms of what the desktop plays, in Opus. `number` counts the packets."""
    return struct.pack("<BI", SOUND, number) + packet


def sounds(sequence: int, first: int, packets: Sequence[bytes]) -> bytes:
    """`sounds`: consecutive packets of sound, from the number `first`. `sequence` counts these messages to one viewer."""
    return struct.pack("<BHI", SOUNDS, sequence, first) + b"".join(struct.pack("<H", len(packet)) + packet for packet in packets)


def clip(forms: Mapping[str, bytes]) -> bytes:
    """`clip`: what was copied on the desktop, if it is more than text. See `clipboard_formats`."""
    return bytes([CLIP]) + packed(forms)


def acted(what: int, times: int, at: tuple[int, int], more: bytes) -> bytes:
    """`acted`: an event of the input echo. `more` is the UTF-8 of a hotkey, or the positions of a drag as pairs of `u16`."""
    return struct.pack("<BBBHH", ACTED, what, times, *at) + more


def picture(timestamp: int, packed: bytes) -> bytes:
    """An access unit for the RTP track. It goes over no WebSocket: the transport sends it as RTP."""
    return struct.pack("<BI", PICTURE, timestamp) + packed


def read_picture(message: bytes) -> tuple[int, bytes]:
    """The timestamp and the access unit of what `picture` made."""
    return int.from_bytes(message[1:5], "little"), message[5:]


def desktop(*, running: bool) -> bytes:
    """`desktop`: whether there is one. While there is none, the picture stays as it was."""
    return struct.pack("<BB", DESKTOP, running)


def signal(kind: int, text: str = "") -> bytes:
    """`signal`: what a viewer needs to open a data channel. See `transport/signaling.py`."""
    return bytes([SIGNAL, kind]) + text.encode()
