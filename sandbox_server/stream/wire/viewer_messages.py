"""The messages of a viewer, parsed and serialized."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox_server.stream.wire.clipboard_formats import MalformedMessage, packed, unpacked

MAX_CLIP = 1 << 22
"""Most bytes of a clipboard in all its formats."""
MAX_UP = MAX_CLIP + 64
"""Longest message of a viewer, in bytes."""
MAX_TEXT = 1 << 20
"""Longest text for the clipboard, in bytes of UTF-8."""
MAX_SIGNAL = 1024
"""Longest text of a signal."""
MAX_SPOKEN = 1276
"""Longest packet of speech: one frame of Opus and its table-of-contents byte (RFC 6716, section 3.2)."""
MAX_TYPED = 4096
"""Longest text that one message types. Other messages of the viewer wait meanwhile."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The viewer's first message: the protocol's version, and whether it decodes video."""

    version: int
    videos: bool


@dataclass(frozen=True, slots=True)
class Ack:
    """A frame is shown. `milliseconds` is from the arrival of its last part to that, `receiving` from its first part to its last."""

    frame: int
    milliseconds: int
    receiving: int = 0


@dataclass(frozen=True, slots=True)
class PointerInput:
    """The pointer's position and its buttons: 1 left, 2 middle, 4 right, 8 back, 16 forward."""

    x: int
    y: int
    buttons: int


@dataclass(frozen=True, slots=True)
class Wheel:
    """A turn of the wheel, in pixels. Positive is right and down."""

    dx: int
    dy: int


@dataclass(frozen=True, slots=True)
class Key:
    """A key went down or up."""

    keysym: int
    down: bool


@dataclass(frozen=True, slots=True)
class TextInput:
    """Text that an input method composed, to be typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Copied:
    """Text for the desktop's clipboard."""

    text: str


@dataclass(frozen=True)
class Clip:
    """Content for the desktop's clipboard, by format. See `clipboard_formats`."""

    forms: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Listens:
    """Whether the viewer wants the desktop's sound."""

    listens: bool


@dataclass(frozen=True, slots=True)
class Missed:
    """The share of the sound of the last second that did not arrive, in 255ths."""

    share: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """20 ms of speech for the desktop's microphone, in Opus. `number` counts the packets."""

    number: int
    packet: bytes


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping, which is answered at once with the same number."""

    number: int


@dataclass(frozen=True, slots=True)
class Visible:
    """Whether anybody sees the viewer's page."""

    visible: bool


@dataclass(frozen=True, slots=True)
class Whole:
    """The viewer has lost its picture: send everything anew."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What opens a data channel. See `transport/signaling.py`."""

    text: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Before the hello: the viewer has what another connection showed, up to this frame."""

    session: int
    frame: int


@dataclass(frozen=True, slots=True)
class Fit:
    """The size that the desktop's screen is to have, in pixels."""

    width: int
    height: int


type FromViewer = (
    Hello
    | Ack
    | PointerInput
    | Wheel
    | Key
    | TextInput
    | Copied
    | Clip
    | Listens
    | Ping
    | Visible
    | Whole
    | Signal
    | Resume
    | Missed
    | Spoken
    | Fit
)

_UP: dict[int, tuple[struct.Struct, Callable[..., FromViewer]]] = {
    1: (struct.Struct("<BB"), lambda version, can: Hello(version, videos=bool(can & 1))),
    2: (struct.Struct("<IHH"), Ack),
    3: (struct.Struct("<HHB"), PointerInput),
    4: (struct.Struct("<hh"), Wheel),
    5: (struct.Struct("<IB"), lambda keysym, down: Key(keysym, down=bool(down))),
    8: (struct.Struct("<I"), Ping),
    9: (struct.Struct("<B"), lambda visible: Visible(bool(visible))),
    10: (struct.Struct("<"), Whole),
    12: (struct.Struct("<B"), lambda listens: Listens(bool(listens))),
    14: (struct.Struct("<II"), Resume),
    16: (struct.Struct("<B"), Missed),
    19: (struct.Struct("<HH"), Fit),
}
_CLIP, _SPOKEN = 13, 17
_SPOKEN_HEAD = struct.Struct("<I")
_TEXTS: dict[int, tuple[int, Callable[[str], FromViewer]]] = {6: (MAX_TYPED, TextInput), 7: (MAX_TEXT, Copied), 11: (MAX_SIGNAL, Signal)}


def parse(message: bytes) -> FromViewer:
    """Parse a message of a viewer. Raises MalformedMessage."""
    if not message or len(message) > MAX_UP:
        raise MalformedMessage(f"a message has 1 to {MAX_UP} bytes")
    number, body = message[0], message[1:]
    if number in _TEXTS:
        most, made_of = _TEXTS[number]
        return made_of(_text(body, most))
    if number == _CLIP:
        return Clip(unpacked(body))
    if number == _SPOKEN:
        return _spoken(body)
    if number not in _UP:
        raise MalformedMessage(f"there is no message {number}")
    form, made = _UP[number]
    if len(body) != form.size:
        raise MalformedMessage(f"message {number} has {form.size} bytes after its number, not {len(body)}")
    return made(*form.unpack(body))


def _spoken(body: bytes) -> Spoken:
    if not _SPOKEN_HEAD.size < len(body) <= _SPOKEN_HEAD.size + MAX_SPOKEN:
        raise MalformedMessage(f"speech comes in packets of 1 to {MAX_SPOKEN} bytes")
    [number] = _SPOKEN_HEAD.unpack_from(body)
    return Spoken(number, body[_SPOKEN_HEAD.size :])


def _text(body: bytes, most: int) -> str:
    if len(body) > most:
        raise MalformedMessage(f"a text has at most {most} bytes")
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("a text is UTF-8") from None


def serialize(message: FromViewer) -> bytes:
    """Serialize a message of a viewer."""
    match message:
        case Hello():
            return struct.pack("<BBB", 1, message.version, message.videos)
        case Ack():
            return struct.pack("<BIHH", 2, message.frame, message.milliseconds, message.receiving)
        case PointerInput():
            return struct.pack("<BHHB", 3, message.x, message.y, message.buttons)
        case Wheel():
            return struct.pack("<Bhh", 4, message.dx, message.dy)
        case Key():
            return struct.pack("<BIB", 5, message.keysym, message.down)
        case TextInput() | Copied():
            return bytes([6 if isinstance(message, TextInput) else 7]) + message.text.encode()
        case Clip():
            return bytes([_CLIP]) + packed(message.forms)
        case Ping():
            return struct.pack("<BI", 8, message.number)
        case Resume():
            return struct.pack("<BII", 14, message.session, message.frame)
        case Fit():
            return struct.pack("<BHH", 19, message.width, message.height)
        case Visible():
            return struct.pack("<BB", 9, message.visible)
        case Listens():
            return struct.pack("<BB", 12, message.listens)
        case Spoken():
            return bytes([_SPOKEN]) + _SPOKEN_HEAD.pack(message.number) + message.packet
        case Missed():
            return struct.pack("<BB", 16, message.share)
        case Whole():
            return b"\x0a"
        case Signal():
            return b"\x0b" + message.text.encode()
