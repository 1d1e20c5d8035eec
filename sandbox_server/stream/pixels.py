"""Pixels, by native code (`native/`): Python moves rects, and never looks at a pixel of one."""

import ctypes
import functools
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LIBRARY = "/usr/local/lib/tandem-pixels.so"
"""`native/*.c`, as the image's build compiles them."""
TILE = 32
"""The grid on which changes are looked for, in pixels."""
LOSSY = 0x01000000
"""What the highest byte of a shadow's pixel says: the viewer has something like it."""
MAX_SIDE = 8192
"""Longest side of a screen, in pixels."""
PIECE_BYTES = 1 << 18
"""Most that exact rects take before they are compressed, so that a viewer can begin with one piece while the next is made."""
_RECT_BYTES = 4 * 256 * 256 + 1024
"""What the largest rect may take."""
_MAX_RECTS = 8192
_MAX_MOVES = 256
_EXPLAINED = 4
"""Where less than this part of an area moved up or down, it is looked for in any direction: that takes longer."""
_MAX_HOT = 16
_CELL = 8
"""Side of the cells in which what lies over a film is looked for, in pixels."""
MAX_OVER = 128
"""Rects that lie over one film."""
KEPT = 4096
"""Tiles that a viewer keeps, at 4 KiB each."""

type Area = tuple[int, int, int, int]
"""x, y, width and height in pixels."""


class Rect(ctypes.Structure):
    """A rect of one kind, in pixels."""

    _fields_ = (
        ("x", ctypes.c_uint16),
        ("y", ctypes.c_uint16),
        ("width", ctypes.c_uint16),
        ("height", ctypes.c_uint16),
        ("colour", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
    )


class Move(ctypes.Structure):
    """Pixels that are found elsewhere now, as they are on the wire."""

    _fields_ = tuple((name, ctypes.c_uint16) for name in ("from_x", "from_y", "x", "y", "width", "height"))


class Kept(ctypes.Structure):
    """A tile that is kept or put, as it is on the wire."""

    _fields_ = tuple((name, ctypes.c_uint16) for name in ("slot", "x", "y"))


class _Pictures(ctypes.Structure):
    _fields_ = (
        ("screen", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("stride", ctypes.c_int),
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
    )


@functools.cache
def _native() -> ctypes.CDLL:
    found = ctypes.CDLL(LIBRARY)
    found.find_changes.argtypes = (
        ctypes.c_void_p,
        *[ctypes.c_int] * 4,
        ctypes.c_uint32,
        *[ctypes.c_void_p] * 2,
        ctypes.c_int,
        ctypes.c_void_p,
    )
    found.find_moves.argtypes = found.find_shifts.argtypes = (ctypes.c_void_p, *[ctypes.c_int] * 4, ctypes.c_void_p, ctypes.c_int)
    found.pack.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    found.unpack.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    found.take.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32)
    found.forget.argtypes = (ctypes.c_void_p, *[ctypes.c_int] * 4)
    found.move.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    found.cut.argtypes = found.paste.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    found.paste.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    found.warm.argtypes = (*[ctypes.c_void_p] * 2, *[ctypes.c_int] * 2, ctypes.c_void_p, *[ctypes.c_int] * 2)
    found.cool.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    found.find_hot.argtypes = (*[ctypes.c_void_p] * 4, *[ctypes.c_int] * 3, ctypes.c_void_p, ctypes.c_int)
    found.kept_size.restype = ctypes.c_size_t
    found.find_kept.argtypes = (*[ctypes.c_void_p] * 2, *[ctypes.c_int] * 4, *[ctypes.c_void_p] * 3, ctypes.c_int, ctypes.c_void_p)
    found.keep_tiles.argtypes = found.put_tiles.argtypes = (
        ctypes.c_void_p,
        *[ctypes.c_int] * 2,
        ctypes.c_void_p,
        ctypes.c_int,
        *[ctypes.c_void_p] * 2,
    )
    found.cell_size.restype = ctypes.c_size_t
    found.find_over.argtypes = (*[ctypes.c_void_p] * 6, ctypes.c_uint32, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    found.halve.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    found.to_yuv.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return found


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture in memory: four bytes a pixel (blue, green, red, unused), rows from the top, nothing between them."""

    address: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Rects:
    """Some of the rects in an array that native code wrote."""

    memory: Any
    start: int
    count: int

    def __iter__(self) -> Iterator[Rect]:
        return iter(self.memory[self.start : self.start + self.count])

    def __len__(self) -> int:
        return self.count

    def at(self, number: int = 0) -> int:
        """Where the rect of that number is in memory."""
        return ctypes.addressof(self.memory) + (self.start + number) * ctypes.sizeof(Rect)

    @property
    def pixels(self) -> int:
        """How many pixels they have."""
        return sum(rect.width * rect.height for rect in self)


def around(areas: list[Area]) -> Area:
    """The smallest area that holds them all."""
    left, top = min(x for x, _, _, _ in areas), min(y for _, y, _, _ in areas)
    right, bottom = max(x + width for x, _, width, _ in areas), max(y + height for _, y, _, height in areas)
    return left, top, right - left, bottom - top


def meet(one: Area, other: Area) -> bool:
    """Whether two areas have a pixel in common."""
    return all(one[axis] < other[axis] + other[axis + 2] and other[axis] < one[axis] + one[axis + 2] for axis in (0, 1))


def rects_of(areas: Sequence[Area]) -> Rects:
    """Rects that are the areas."""
    return Rects((Rect * len(areas))(*[Rect(*area) for area in areas]), 0, len(areas))


def scrolled(moves: bytes) -> list[Area]:
    """Where something scrolled by `Move`s: where it was, where it is, and what is between, for each."""
    found = (Move * (len(moves) // ctypes.sizeof(Move))).from_buffer_copy(moves)
    return [around([(m.from_x, m.from_y, m.width, m.height), (m.x, m.y, m.width, m.height)]) for m in found]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a viewer does not have: what is worth sending exactly, and what is like a photograph."""

    exact: Rects
    pictures: Rects


class Shadow:
    """What one viewer has of a screen of `width` x `height`: at first nothing is known of it."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._memory = (ctypes.c_uint32 * (width * height))()
        self._kept: Any = None
        self._room = (ctypes.c_uint8 * (max(PIECE_BYTES, _RECT_BYTES)))()
        self.forget((0, 0, width, height))

    def changes(self, frame: Frame, area: Area, *, lossless: bool = False, skip: Any = None) -> Changes:
        """What within the area differs from the frame; with `lossless` also what the viewer has something like.

        `skip` marks tiles to leave out.
        """
        memory, exact = (Rect * _MAX_RECTS)(), ctypes.c_int()
        mask = 0xFFFFFFFF if lossless else 0xFFFFFFFF ^ LOSSY
        found = _native().find_changes(self._with(frame), *area, mask, skip, memory, _MAX_RECTS, ctypes.byref(exact))
        return Changes(Rects(memory, 0, exact.value), Rects(memory, exact.value, found - exact.value))

    def moves(self, frame: Frame, area: Area) -> bytes:
        """What within the area only moved, as `Move`s to be made in that order; they are made here, too."""
        both = self._with(frame)
        memory, found, pixels = self._find(_native().find_moves, both, area)
        if pixels * _EXPLAINED < area[2] * area[3]:
            memory, found, pixels = max((memory, found, pixels), self._find(_native().find_shifts, both, area), key=lambda one: one[2])
        _native().move(both, memory, found)
        return _head(memory, found)

    @staticmethod
    def _find(work: Any, both: Any, area: Area) -> tuple[Any, int, int]:
        """Moves, how many, and how many pixels they have."""
        memory = (Move * _MAX_MOVES)()
        found = work(both, *area, memory, _MAX_MOVES)
        return memory, found, sum(move.width * move.height for move in memory[:found])

    def kept(self, frame: Frame, area: Area, *, skip: Any = None) -> tuple[bytes, bytes]:
        """What within the area the viewer is to keep, as `Kept`, and then what to put from what it keeps; that is done here, too."""
        if self._kept is None:
            size = _native().kept_size()
            self._kept = (ctypes.c_uint8 * size).from_buffer(mmap.mmap(-1, size))  # what is not used takes no memory
        keep, put, counts = (Kept * KEPT)(), (Kept * KEPT)(), (ctypes.c_int * 2)()
        _native().find_kept(self._with(frame), self._kept, *area, skip, keep, put, KEPT, counts)
        return _head(keep, counts[1]), _head(put, counts[0])

    def forget_kept(self) -> None:
        """Note that the viewer may keep anything."""
        self._kept = None

    def take(self, frame: Frame, rects: Rects, *, lossy: bool = False) -> None:
        """Note that the viewer was sent these rects of the frame."""
        _native().take(self._with(frame), rects.at(), len(rects), LOSSY if lossy else 0)

    def forget(self, area: Area) -> None:
        """Note that the viewer may have anything there."""
        _native().forget(self._with(Frame(0, self.width, self.height)), *area)

    def pack(self, frame: Frame, rects: Rects) -> Iterator[bytes]:
        """The rects of the frame, exactly, in pieces of about PIECE_BYTES."""
        done, length = 0, ctypes.c_size_t()
        while done < len(rects):
            done += _native().pack(
                frame.address, frame.width, rects.at(done), len(rects) - done, self._room, len(self._room), ctypes.byref(length)
            )
            yield memoryview(self._room)[: length.value].tobytes()

    def _with(self, frame: Frame) -> Any:
        both = _Pictures(frame.address, ctypes.addressof(self._memory), self.width, self.width, self.height)
        return ctypes.byref(both)


def _head(memory: Any, count: int) -> bytes:
    """The first of an array's structures, as bytes."""
    return ctypes.string_at(memory, count * ctypes.sizeof(memory._type_))


def cut(frame: Frame, rect: Rect) -> bytearray:
    """The pixels of a rect of the frame, without gaps between rows."""
    out = bytearray(rect.width * rect.height * 4)
    _native().cut(frame.address, frame.width, ctypes.byref(rect), (ctypes.c_uint8 * len(out)).from_buffer(out))
    return out


def halve(frame: Frame, area: Area, out: Any) -> Frame:
    """An area at half its size, in memory that `out` has for it; what is odd of it is left out."""
    _native().halve(frame.address, frame.width, ctypes.byref(Rect(*area)), out)
    return Frame(ctypes.addressof(out), area[2] // 2, area[3] // 2)


def to_yuv(frame: Frame, area: Area, planes: Sequence[int], strides: Sequence[int]) -> None:
    """Write an area of even size into the planes Y, U and V, given by address and bytes a row, with a quarter of the colour (BT.709)."""
    rows, addresses = (ctypes.c_int * 3)(*strides), (ctypes.c_void_p * 3)(*planes)
    _native().to_yuv(frame.address, frame.width, ctypes.byref(Rect(*area)), addresses, rows)


class Stood:
    """What of an area, in which a film plays, stands still, and so lies over the film."""

    def __init__(self, area: Area) -> None:
        self.area = area
        pixels, cells = area[2] * area[3], -(-area[2] // _CELL) * -(-area[3] // _CELL)
        self._last = (ctypes.c_uint32 * pixels)()
        self._since = (ctypes.c_uint32 * pixels)()
        self._cells = (ctypes.c_uint8 * (cells * _native().cell_size()))()
        self._mask = (ctypes.c_uint8 * cells)()
        self._looks = 0
        self.over: list[Area] = []
        """What lies over the film, as of the latest look: at most MAX_OVER areas."""

    def look(self, frame: Frame, budget: int) -> bool:
        """Look at the next picture: whether anything of the film itself has changed. At most `budget` pixels more lie over it then."""
        found, moved, film = (Rect * MAX_OVER)(), ctypes.c_int(), Rect(*self.area)
        both = _Pictures(frame.address, None, frame.width, frame.width, frame.height)
        memory = self._last, self._since, self._cells, self._mask
        count = _native().find_over(
            ctypes.byref(both), ctypes.byref(film), *memory, self._looks + 1, budget, found, MAX_OVER, ctypes.byref(moved)
        )
        if count >= 0:
            self._looks += 1
            self.over = [(rect.x, rect.y, rect.width, rect.height) for rect in found[:count]]
        return bool(moved.value)


def warm(heat: Any, columns: int, rects: Rects, by: int, *, other: Any = None, most: int = 0) -> None:
    """Warm the tiles that the rects touch, but for those that are warmer than `most` in another map."""
    _native().warm(heat, other, most, columns, rects.at(), len(rects), by)


def cool(heat: Any, by: int) -> None:
    """Let all tiles cool."""
    _native().cool(heat, len(heat), max(0, min(255, by)))


def hot_tiles(heat: Any, other: Any, columns: int, rows: int, hot: int) -> list[tuple[Area, int]]:
    """Where tiles that touch each other are at least so hot in one of two maps, in tiles, and how many they are."""
    seen, stack, found = (ctypes.c_uint8 * len(heat))(), (ctypes.c_int * len(heat))(), (Rect * _MAX_HOT)()
    count = _native().find_hot(heat, other, seen, stack, columns, rows, hot, found, _MAX_HOT)
    return [((rect.x, rect.y, rect.width, rect.height), rect.colour) for rect in found[:count]]


class Canvas:
    """A picture that is put together from what was sent."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.pixels = bytearray(width * height * 4)
        self._memory = (ctypes.c_uint32 * (width * height)).from_buffer(self.pixels)
        self._kept = (ctypes.c_uint32 * (KEPT * TILE * TILE)).from_buffer(mmap.mmap(-1, KEPT * TILE * TILE * 4))
        self._known = (ctypes.c_uint8 * KEPT)()

    def keep(self, tiles: bytes) -> bool:
        """Keep tiles, given as `Kept`s; whether they lie within the picture."""
        return self._with_kept(_native().keep_tiles, tiles)

    def put(self, tiles: bytes) -> bool:
        """Put tiles that are kept where `Kept`s say; whether they are kept, and lie within the picture then."""
        return self._with_kept(_native().put_tiles, tiles)

    def _with_kept(self, work: Any, tiles: bytes) -> bool:
        count = len(tiles) // ctypes.sizeof(Kept)
        return bool(work(self._memory, self.width, self.height, tiles, count, self._kept, self._known))

    def unpack(self, packed: bytes) -> bool:
        """Draw exact rects; whether that is what the bytes are. What came before a mistake in them is drawn."""
        return bool(_native().unpack(packed, len(packed), self._memory, self.width, self.height))

    def move(self, moves: bytes) -> bool:
        """Make `Move`s; whether all of them lie within the picture, else none is made."""
        count = len(moves) // ctypes.sizeof(Move)
        memory = (Move * count).from_buffer_copy(moves)
        if not all(self.holds(m.x, m.y, m.width, m.height) and self.holds(m.from_x, m.from_y, m.width, m.height) for m in memory):
            return False
        both = _Pictures(0, ctypes.addressof(self._memory), self.width, self.width, self.height)
        _native().move(ctypes.byref(both), memory, count)
        return True

    def paste(self, area: Area, pixels: bytes) -> None:
        """Put pixels, without gaps between rows, where they belong. The caller has seen to it that there are enough, and that they fit."""
        _native().paste(pixels, ctypes.byref(Rect(*area)), self._memory, self.width)

    def holds(self, x: int, y: int, width: int, height: int) -> bool:
        """Whether the area lies within the picture."""
        return width > 0 and height > 0 and x + width <= self.width and y + height <= self.height
