"""Arrays of rects in memory that the C kernels read and write."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_server.stream.geometry import Area, bounding_box
from sandbox_server.stream.native.library import MovedRect, Rect


@dataclass(frozen=True, slots=True)
class RectArray:
    """A slice of an array of `Rect`s that a C kernel wrote."""

    memory: Any
    start: int
    count: int

    def __iter__(self) -> Iterator[Rect]:
        return iter(self.memory[self.start : self.start + self.count])

    def __len__(self) -> int:
        return self.count

    def at(self, number: int = 0) -> int:
        """The memory address of the rect of that number."""
        return ctypes.addressof(self.memory) + (self.start + number) * ctypes.sizeof(Rect)

    @property
    def pixels(self) -> int:
        """How many pixels the rects have together."""
        return sum(rect.width * rect.height for rect in self)


def rect_array(areas: Sequence[Area]) -> RectArray:
    """An array with a rect for each area."""
    return RectArray((Rect * len(areas))(*[Rect(*area) for area in areas]), 0, len(areas))


def scrolled_areas(moves: bytes) -> list[Area]:
    """The area that each `MovedRect` touches: its source, its destination and what lies between them."""
    found = (MovedRect * (len(moves) // ctypes.sizeof(MovedRect))).from_buffer_copy(moves)
    return [bounding_box([(m.from_x, m.from_y, m.width, m.height), (m.x, m.y, m.width, m.height)]) for m in found]


def head_bytes(memory: Any, count: int) -> bytes:
    """The first `count` structures of an array, as bytes."""
    return ctypes.string_at(memory, count * ctypes.sizeof(memory._type_))
