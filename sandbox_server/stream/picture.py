"""What a viewer sees, put together from messages: the reference that every other client is held to.

Sans-io: messages in, a picture out. What is wrong is refused, and nothing that a server sends can write outside of the picture.
"""

import io
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from PIL import Image, UnidentifiedImageError

from sandbox_server.stream import wire
from sandbox_server.stream.acts import DRAGGED, KEYS, Act
from sandbox_server.stream.films import FilmReader
from sandbox_server.stream.pixels import MAX_SIDE, Area, Canvas
from sandbox_server.stream.wire import BadMessage, unpacked
from sandbox_server.stream.zstd import BadCompression, decompress

MAX_UNPACKED = 16 << 20
"""Most that exact rects of one operation may have uncompressed."""
MAX_OVER = 256
"""Most rects that may lie over one film."""
MAX_ACTS = 64
"""Acts that are kept, the latest."""
_MOVE_BYTES = 12
_KEPT_BYTES = 6
_PLACE = struct.Struct("<HH")


class _Bytes:
    """A message, read from its start."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def __len__(self) -> int:
        return len(self._message) - self._at

    def fields(self, form: str) -> tuple[int, ...]:
        """Numbers, as `struct` describes them."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def take(self, count: int) -> bytes:
        """So many bytes. Raises BadMessage where there are fewer."""
        if count > len(self):
            raise BadMessage("it is cut off")
        self._at += count
        return self._message[self._at - count : self._at]


@dataclass(slots=True)
class Counts:
    """How many operations of each kind arrived, and how many bytes they had."""

    operations: dict[str, int] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, size: int) -> None:
        """Count one."""
        self.operations[kind] = self.operations.get(kind, 0) + 1
        self.size[kind] = self.size.get(kind, 0) + size


class ViewerPicture:
    """The picture of one connection, from its first message."""

    def __init__(self) -> None:
        self.canvas = Canvas(0, 0)
        self.rights = 0
        self.running = True
        self.session = 0
        self.frame = 0
        self.done = 0
        """The latest frame of the session that is whole."""
        self.copied: str | None = None
        self.forms: dict[str, bytes] = {}
        self.heard: tuple[int, bytes] | None = None
        self.sounds: list[tuple[int, bytes]] = []
        """The packets of the latest message of sound, which may be others' again."""
        self.pointer: tuple[int, int] | None = None
        self.cursor: tuple[int, int, bytes] | None = None
        self.acts: deque[Act] = deque(maxlen=MAX_ACTS)
        """What somebody else did to the desktop."""
        self.counts = Counts()
        self._films: dict[int, FilmReader] = {}
        self._over: dict[int, list[Area]] = {}
        self._known: dict[int, Callable[[_Bytes], int | None]] = {
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
        self._operations: dict[int, Callable[[_Bytes], str]] = {
            wire.EXACT: self._exact,
            wire.MOVES: self._moves,
            wire.JPEG: self._jpeg,
            wire.FILM: self._film,
            wire.FILM_ENDS: self._film_ends,
            wire.KEEP: self._keep,
            wire.KEPT: self._put,
            wire.OVER: self._lie_over,
        }

    def take(self, message: bytes) -> int | None:
        """Take a message; the number of a frame that it ends, which is to be acknowledged. Raises BadMessage."""
        body = _Bytes(message)
        [number] = body.fields("<B")
        if number not in self._known:
            raise BadMessage(f"there is no message {number}")
        ended = self._known[number](body)
        if len(body):
            raise BadMessage("it is too long")
        return ended

    def image(self) -> Image.Image:
        """What is seen now, without the pointer."""
        size = self.canvas.width, self.canvas.height
        picture = Image.frombytes("RGB", size, bytes(self.canvas.pixels), "raw", "BGRX", 0, 1)
        exact = picture.copy() if self._over else picture
        for number, film in self._films.items():
            film.draw(picture)
            for x, y, width, height in self._over.get(number, ()):
                picture.paste(exact.crop((x, y, x + width, y + height)), (x, y))
        return picture

    def _hello(self, body: _Bytes) -> None:
        version, self.rights, self.session = body.fields("<BBI")
        self.frame = self.done = 0
        if version != wire.VERSION:
            raise BadMessage(f"this client speaks version {wire.VERSION}")
        self._size(body)

    def _size(self, body: _Bytes) -> None:
        width, height = body.fields("<HH")
        if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
            raise BadMessage(f"a screen has at most {MAX_SIDE} pixels a side")
        self._films.clear()
        self._over.clear()
        if (width, height) != (self.canvas.width, self.canvas.height):  # else it is another connection, and the picture goes on
            self.canvas = Canvas(width, height)

    def _part(self, body: _Bytes) -> int | None:
        flags, self.frame = body.fields("<BI")
        while len(body):
            before = len(body)
            [number] = body.fields("<B")
            if number not in self._operations:
                raise BadMessage(f"there is no operation {number}")
            self.counts.add(self._operations[number](body), before - len(body))
        if not flags & wire.LAST:
            return None
        self.done = self.frame
        return self.done

    def _exact(self, body: _Bytes) -> str:
        length, packed = body.fields("<II")
        if length > MAX_UNPACKED:
            raise BadMessage(f"exact rects have at most {MAX_UNPACKED} bytes")
        try:
            drawn = self.canvas.unpack(decompress(body.take(packed), length))
        except BadCompression as bad:
            raise BadMessage(str(bad)) from None
        if not drawn:
            raise BadMessage("these are no rects of the picture")
        return "exact"

    def _moves(self, body: _Bytes) -> str:
        [count] = body.fields("<H")
        if not self.canvas.move(body.take(count * _MOVE_BYTES)):
            raise BadMessage("a move is not within the picture")
        return "moves"

    def _keep(self, body: _Bytes) -> str:
        [count] = body.fields("<H")
        if not self.canvas.keep(body.take(count * _KEPT_BYTES)):
            raise BadMessage("what is to be kept is not within the picture")
        return "keep"

    def _put(self, body: _Bytes) -> str:
        [count] = body.fields("<H")
        if not self.canvas.put(body.take(count * _KEPT_BYTES)):
            raise BadMessage("nothing is kept there, or it does not lie within the picture")
        return "kept"

    def _jpeg(self, body: _Bytes) -> str:
        area, packed = self._area(body)
        try:
            with Image.open(io.BytesIO(packed), formats=["JPEG"]) as image:
                if image.size != area[2:]:
                    raise BadMessage("a picture does not have the size of its rect")
                pixels = image.convert("RGB").tobytes("raw", "BGRX")
        except (UnidentifiedImageError, OSError, SyntaxError):
            raise BadMessage("this is no JPEG") from None
        self.canvas.paste(area, pixels)
        return "jpeg"

    def _film(self, body: _Bytes) -> str:
        number, flags = body.fields("<BB")
        area, packed = self._area(body)
        if flags & wire.TRACKED:  # by a track, which is a browser's
            return "film"
        film = self._films.get(number)
        if film is None or flags & wire.KEY_FRAME:
            film = self._films[number] = FilmReader()
        film.next(area, packed)
        return "film"

    def _film_ends(self, body: _Bytes) -> str:
        [number] = body.fields("<B")
        self._films.pop(number, None)
        self._over.pop(number, None)
        return "film ends"

    def _lie_over(self, body: _Bytes) -> str:
        number, count = body.fields("<BH")
        if count > MAX_OVER:
            raise BadMessage(f"at most {MAX_OVER} rects lie over a film")
        self._over[number] = [self._rect(body) for _ in range(count)]
        return "over"

    def _area(self, body: _Bytes) -> tuple[Area, bytes]:
        area = self._rect(body)
        [length] = body.fields("<I")
        return area, body.take(length)

    def _rect(self, body: _Bytes) -> Area:
        x, y, width, height = body.fields("<HHHH")
        if not self.canvas.holds(x, y, width, height):
            raise BadMessage("a rect is not within the picture")
        return x, y, width, height

    def _cursor(self, body: _Bytes) -> None:
        width, height, hot_x, hot_y, length = body.fields("<HHHHI")
        try:
            self.cursor = hot_x, hot_y, decompress(body.take(length), width * height * 4)
        except BadCompression as bad:
            raise BadMessage(str(bad)) from None

    def _pointer(self, body: _Bytes) -> None:
        x, y = body.fields("<HH")
        self.pointer = x, y

    def _pong(self, body: _Bytes) -> None:
        body.fields("<I")

    def _rights(self, body: _Bytes) -> None:
        [self.rights] = body.fields("<B")

    def _clipboard(self, body: _Bytes) -> None:
        self.copied = _text(body.take(len(body)))

    def _clip(self, body: _Bytes) -> None:
        self.forms = unpacked(bytes(body.take(len(body))))
        self.copied = self.forms.get("text/plain", b"").decode()

    def _sound(self, body: _Bytes) -> None:
        [number] = body.fields("<I")
        self._hear([(number, bytes(body.take(len(body))))])

    def _sounds(self, body: _Bytes) -> None:
        _, number = body.fields("<HI")
        packets: list[tuple[int, bytes]] = []
        while len(body):
            packets.append((number + len(packets), bytes(body.take(*body.fields("<H")))))
        self._hear(packets)

    def _hear(self, packets: list[tuple[int, bytes]]) -> None:
        self.sounds = packets
        self.heard = packets[-1] if packets else self.heard

    def _acted(self, body: _Bytes) -> None:
        what, times, x, y = body.fields("<BBHH")
        more = body.take(len(body))
        if what == DRAGGED and len(more) % _PLACE.size == 0:
            self.acts.append(Act(what, (x, y), times, path=tuple(_PLACE.iter_unpack(more))))
        elif what == KEYS or not more:
            self.acts.append(Act(what, (x, y), times, _text(more)))
        else:
            raise BadMessage("it is too long")

    def _desktop(self, body: _Bytes) -> None:
        [running] = body.fields("<B")
        self.running = bool(running)


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise BadMessage("a text is UTF-8") from None
