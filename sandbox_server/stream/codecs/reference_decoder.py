"""The reference decoder: messages of the server in, the picture that a viewer sees out. Every other client is compared with it.

Sans-io. Malformed messages raise MalformedMessage, and nothing that a server sends can write outside of the picture.
"""

import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from PIL import Image

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.codecs.exact import decode_exact
from sandbox_server.stream.codecs.h264 import H264Decoder
from sandbox_server.stream.codecs.jpeg import decode_jpeg
from sandbox_server.stream.codecs.zstd import BadCompression, decompress
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.input.input_echo import DRAGGED, KEYS, EchoedInput
from sandbox_server.stream.wire import MalformedMessage, unpacked

MAX_SIDE = 8192
"""Longest side of a screen, in pixels."""
MAX_OVERLAYS = 256
"""Overlay rects that one video may have."""
MAX_ECHOES = 64
"""Echoed inputs that are kept, the latest."""
_MOVE_BYTES = 12
_TILE_BYTES = 6
_POSITION = struct.Struct("<HH")


class _MessageReader:
    """Reads a message from its start."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def __len__(self) -> int:
        return len(self._message) - self._at

    def fields(self, form: str) -> tuple[int, ...]:
        """Read numbers, as `struct` describes them."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def take(self, count: int) -> bytes:
        """Read so many bytes. Raises MalformedMessage where there are fewer."""
        if count > len(self):
            raise MalformedMessage("it is cut off")
        self._at += count
        return self._message[self._at - count : self._at]


@dataclass(slots=True)
class OperationCounts:
    """How many operations of each kind arrived, and their bytes."""

    operations: dict[str, int] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, size: int) -> None:
        """Count one."""
        self.operations[kind] = self.operations.get(kind, 0) + 1
        self.size[kind] = self.size.get(kind, 0) + size


class ReferenceDecoder:
    """Decodes the messages of one connection, from its first on."""

    def __init__(self) -> None:
        self.canvas = Canvas(0, 0)
        self.rights = 0
        self.running = True
        self.session = 0
        self.frame = 0
        self.done = 0
        """The latest complete frame of the session."""
        self.copied: str | None = None
        self.forms: dict[str, bytes] = {}
        self.heard: tuple[int, bytes] | None = None
        self.sounds: list[tuple[int, bytes]] = []
        """The packets of the latest message of sound, redundant ones included."""
        self.pointer: tuple[int, int] | None = None
        self.cursor: tuple[int, int, bytes] | None = None
        self.echoes: deque[EchoedInput] = deque(maxlen=MAX_ECHOES)
        """What somebody else did on the desktop."""
        self.counts = OperationCounts()
        self._videos: dict[int, H264Decoder] = {}
        self._overlays: dict[int, list[Area]] = {}
        self._known: dict[int, Callable[[_MessageReader], int | None]] = {
            wire.HELLO: self._hello,
            wire.SIZE: self._size,
            wire.PART: self._part,
            wire.CURSOR: self._cursor,
            wire.POINTER: self._pointer,
            wire.PONG: self._pong,
            wire.RIGHTS: self._rights,
            wire.CLIPBOARD: self._clipboard,
            wire.CLIP: self._clip,
            wire.SOUND: self._sound,
            wire.SOUNDS: self._sounds,
            wire.DESKTOP: self._desktop,
            wire.ACTED: self._acted,
        }
        self._operations: dict[int, Callable[[_MessageReader], str]] = {
            wire.EXACT: self._exact,
            wire.MOVES: self._moves,
            wire.JPEG: self._jpeg,
            wire.VIDEO: self._video,
            wire.VIDEO_ENDS: self._video_ends,
            wire.KEEP: self._store_tiles,
            wire.KEPT: self._draw_tiles,
            wire.OVER: self._overlay,
        }

    def take(self, message: bytes) -> int | None:
        """Decode a message; returns the number of the frame that it ends, which is to be acknowledged. Raises MalformedMessage."""
        body = _MessageReader(message)
        [number] = body.fields("<B")
        if number not in self._known:
            raise MalformedMessage(f"there is no message {number}")
        ended = self._known[number](body)
        if len(body):
            raise MalformedMessage("it is too long")
        return ended

    def image(self) -> Image.Image:
        """What is seen now, without the cursor."""
        size = self.canvas.width, self.canvas.height
        picture = Image.frombytes("RGB", size, bytes(self.canvas.pixels), "raw", "BGRX", 0, 1)
        exact = picture.copy() if self._overlays else picture
        for number, video in self._videos.items():
            video.draw(picture)
            for x, y, width, height in self._overlays.get(number, ()):
                picture.paste(exact.crop((x, y, x + width, y + height)), (x, y))
        return picture

    def _hello(self, body: _MessageReader) -> None:
        version, self.rights, self.session = body.fields("<BBI")
        self.frame = self.done = 0
        if version != wire.VERSION:
            raise MalformedMessage(f"this client speaks version {wire.VERSION}")
        self._size(body)

    def _size(self, body: _MessageReader) -> None:
        width, height = body.fields("<HH")
        if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
            raise MalformedMessage(f"a screen has at most {MAX_SIDE} pixels a side")
        self._videos.clear()
        self._overlays.clear()
        if (width, height) != (self.canvas.width, self.canvas.height):  # else it is another connection, and the picture goes on
            self.canvas = Canvas(width, height)

    def _part(self, body: _MessageReader) -> int | None:
        flags, self.frame = body.fields("<BI")
        while len(body):
            before = len(body)
            [number] = body.fields("<B")
            if number not in self._operations:
                raise MalformedMessage(f"there is no operation {number}")
            self.counts.add(self._operations[number](body), before - len(body))
        if not flags & wire.LAST:
            return None
        self.done = self.frame
        return self.done

    def _exact(self, body: _MessageReader) -> str:
        length, packed = body.fields("<II")
        decode_exact(body.take(packed), length, self.canvas)
        return "exact"

    def _moves(self, body: _MessageReader) -> str:
        [count] = body.fields("<H")
        if not self.canvas.move(body.take(count * _MOVE_BYTES)):
            raise MalformedMessage("a move is not within the picture")
        return "moves"

    def _store_tiles(self, body: _MessageReader) -> str:
        [count] = body.fields("<H")
        if not self.canvas.store_tiles(body.take(count * _TILE_BYTES)):
            raise MalformedMessage("what is to be kept is not within the picture")
        return "keep"

    def _draw_tiles(self, body: _MessageReader) -> str:
        [count] = body.fields("<H")
        if not self.canvas.draw_tiles(body.take(count * _TILE_BYTES)):
            raise MalformedMessage("nothing is kept there, or it does not lie within the picture")
        return "kept"

    def _jpeg(self, body: _MessageReader) -> str:
        area, packed = self._area(body)
        self.canvas.paste(area, decode_jpeg(packed, area[2:]))
        return "jpeg"

    def _video(self, body: _MessageReader) -> str:
        number, flags = body.fields("<BB")
        area, packed = self._area(body)
        if flags & wire.TRACKED:  # by a track, which is a browser's
            return "video"
        video = self._videos.get(number)
        if video is None or flags & wire.KEY_FRAME:
            video = self._videos[number] = H264Decoder()
        video.decode(area, packed)
        return "video"

    def _video_ends(self, body: _MessageReader) -> str:
        [number] = body.fields("<B")
        self._videos.pop(number, None)
        self._overlays.pop(number, None)
        return "video ends"

    def _overlay(self, body: _MessageReader) -> str:
        number, count = body.fields("<BH")
        if count > MAX_OVERLAYS:
            raise MalformedMessage(f"at most {MAX_OVERLAYS} rects lie over a video")
        self._overlays[number] = [self._rect(body) for _ in range(count)]
        return "over"

    def _area(self, body: _MessageReader) -> tuple[Area, bytes]:
        area = self._rect(body)
        [length] = body.fields("<I")
        return area, body.take(length)

    def _rect(self, body: _MessageReader) -> Area:
        x, y, width, height = body.fields("<HHHH")
        if not self.canvas.contains(x, y, width, height):
            raise MalformedMessage("a rect is not within the picture")
        return x, y, width, height

    def _cursor(self, body: _MessageReader) -> None:
        width, height, hot_x, hot_y, length = body.fields("<HHHHI")
        try:
            self.cursor = hot_x, hot_y, decompress(body.take(length), width * height * 4)
        except BadCompression as bad:
            raise MalformedMessage(str(bad)) from None

    def _pointer(self, body: _MessageReader) -> None:
        x, y = body.fields("<HH")
        self.pointer = x, y

    def _pong(self, body: _MessageReader) -> None:
        body.fields("<I")

    def _rights(self, body: _MessageReader) -> None:
        [self.rights] = body.fields("<B")

    def _clipboard(self, body: _MessageReader) -> None:
        self.copied = _text(body.take(len(body)))

    def _clip(self, body: _MessageReader) -> None:
        self.forms = unpacked(bytes(body.take(len(body))))
        self.copied = self.forms.get("text/plain", b"").decode()

    def _sound(self, body: _MessageReader) -> None:
        [number] = body.fields("<I")
        self._hear([(number, bytes(body.take(len(body))))])

    def _sounds(self, body: _MessageReader) -> None:
        _, number = body.fields("<HI")
        packets: list[tuple[int, bytes]] = []
        while len(body):
            packets.append((number + len(packets), bytes(body.take(*body.fields("<H")))))
        self._hear(packets)

    def _hear(self, packets: list[tuple[int, bytes]]) -> None:
        self.sounds = packets
        self.heard = packets[-1] if packets else self.heard

    def _acted(self, body: _MessageReader) -> None:
        what, times, x, y = body.fields("<BBHH")
        more = body.take(len(body))
        if what == DRAGGED and len(more) % _POSITION.size == 0:
            self.echoes.append(EchoedInput(what, (x, y), times, path=tuple(_POSITION.iter_unpack(more))))
        elif what == KEYS or not more:
            self.echoes.append(EchoedInput(what, (x, y), times, _text(more)))
        else:
            raise MalformedMessage("it is too long")

    def _desktop(self, body: _MessageReader) -> None:
        [running] = body.fields("<B")
        self.running = bool(running)


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("a text is UTF-8") from None
