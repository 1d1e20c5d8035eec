"""What the server says: each of these makes one message."""

import struct
from collections.abc import Mapping, Sequence

from sandbox_server.stream.wire.clipboard_formats import packed

VERSION = 1
MAY_ACT = 1
"""Bit of the rights in `hello` and `rights`: this viewer's mouse and keyboard count, or may take control."""
DRIVES = 2
"""Another: they count now."""
HIDDEN = 4
"""Another: a person is private, and this viewer is shown nothing until that ends."""
MAY_SPEAK = 8
"""Another: the desktop has a microphone, which hears this viewer while it drives."""

HELLO, SIZE, PART, CURSOR, POINTER, PONG, RIGHTS, CLIPBOARD, DESKTOP, SOUND, SIGNAL = range(1, 12)
CLIP, SOUNDS, PICTURE, ACTED = range(12, 16)
LAST = 1
"""Flag of the part that ends a frame."""


def hello(session: int, rights: int, width: int, height: int) -> bytes:
    """The server's first message."""
    return struct.pack("<BBBIHH", HELLO, VERSION, rights, session, width, height)


def size(width: int, height: int) -> bytes:
    """The screen has another size now; the viewer has nothing of it."""
    return struct.pack("<BHH", SIZE, width, height)


def part(frame: int, operations: bytes, *, last: bool) -> bytes:
    """Some operations of a frame."""
    return struct.pack("<BBI", PART, LAST if last else 0, frame) + operations


def cursor(hot: tuple[int, int], extent: tuple[int, int], packed: bytes) -> bytes:
    """The pointer looks like this: compressed pixels of blue, green, red and alpha, which is multiplied in."""
    return struct.pack("<BHHHHI", CURSOR, *extent, *hot, len(packed)) + packed


def pointer(x: int, y: int) -> bytes:
    """Somebody else has put the pointer there."""
    return struct.pack("<BHH", POINTER, x, y)


def pong(number: int) -> bytes:
    """The answer to a `Ping`."""
    return struct.pack("<BI", PONG, number)


def rights(held: int) -> bytes:
    """What this viewer may do from now on."""
    return struct.pack("<BB", RIGHTS, held)


def clipboard(text: str) -> bytes:
    """What was copied on the desktop."""
    return bytes([CLIPBOARD]) + text.encode()


def sound(number: int, packet: bytes) -> bytes:
    """The next 20 milliseconds of what the desktop plays, in Opus; `number` counts them."""
    return struct.pack("<BI", SOUND, number) + packet


def sounds(sequence: int, first: int, packets: Sequence[bytes]) -> bytes:
    """Packets of sound that follow each other, from the one with the number `first`; `sequence` counts these messages to a viewer."""
    return struct.pack("<BHI", SOUNDS, sequence, first) + b"".join(struct.pack("<H", len(packet)) + packet for packet in packets)


def clip(forms: Mapping[str, bytes]) -> bytes:
    """What was copied on the desktop, where it is more than a text: see `clips`."""
    return bytes([CLIP]) + packed(forms)


def acted(what: int, times: int, at: tuple[int, int], more: bytes) -> bytes:
    """Something was done there: see `stream.acts`. `more` is UTF-8 of a hotkey, or the places of a drag as pairs of `u16`."""
    return struct.pack("<BBBHH", ACTED, what, times, *at) + more


def picture(timestamp: int, packed: bytes) -> bytes:
    """The next picture of a video that goes by a track: no WebSocket carries it, it leaves as RTP."""
    return struct.pack("<BI", PICTURE, timestamp) + packed


def read_picture(message: bytes) -> tuple[int, bytes]:
    """The timestamp and the picture of what `picture` made."""
    return int.from_bytes(message[1:5], "little"), message[5:]


def desktop(*, running: bool) -> bytes:
    """Whether there is a desktop; while there is none, the picture is what it was last."""
    return struct.pack("<BB", DESKTOP, running)


def signal(kind: int, text: str = "") -> bytes:
    """What a viewer needs to open a channel of datagrams, as `transport.signals` describes it."""
    return bytes([SIGNAL, kind]) + text.encode()
