"""The shadow buffer: the server's copy of what one viewer has on its screen, compared with each captured frame."""

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.native.library import CACHED_TILES, BufferPair, CachedTile, MovedRect, Rect, library
from sandbox_server.stream.native.rect_array import RectArray, head_bytes

LOSSY = 0x01000000
"""Flag in the highest byte of a pixel: the viewer has a lossy version of it."""
_MAX_RECTS = 8192
_MAX_MOVES = 256
_EXPLAINED = 4
"""Motion is searched in any direction, which takes longer, where vertical motion explains less than this part of an area."""


@dataclass(frozen=True, slots=True)
class FrameChanges:
    """What a viewer does not have, by the codec that suits it."""

    exact: RectArray
    pictures: RectArray

    @property
    def all(self) -> RectArray:
        """The rects of both kinds."""
        return RectArray(self.exact.memory, self.exact.start, len(self.exact) + len(self.pictures))


class ShadowBuffer:
    """What one viewer has of a screen of `width` x `height`. At first all of it is unknown."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._memory = (ctypes.c_uint32 * (width * height))()
        self._cache: Any = None
        self.invalidate((0, 0, width, height))

    def changes(self, frame: CapturedFrame, area: Area, *, lossless: bool = False, skip: Any = None) -> FrameChanges:
        """What differs from the frame within the area. With `lossless`, pixels that the viewer has a lossy version of differ too.

        `skip` marks tiles to leave out.
        """
        memory, exact = (Rect * _MAX_RECTS)(), ctypes.c_int()
        mask = 0xFFFFFFFF if lossless else 0xFFFFFFFF ^ LOSSY
        found = library().find_changes(self._with(frame), *area, mask, skip, memory, _MAX_RECTS, ctypes.byref(exact))
        return FrameChanges(RectArray(memory, 0, exact.value), RectArray(memory, exact.value, found - exact.value))

    def moves(self, frame: CapturedFrame, area: Area) -> bytes:
        """What only moved within the area, as `MovedRect`s in the order to apply them. They are applied here, too."""
        both = self._with(frame)
        memory, found, pixels = self._find_moves(library().find_moves, both, area)
        if pixels * _EXPLAINED < area[2] * area[3]:
            memory, found, pixels = max(
                (memory, found, pixels), self._find_moves(library().find_shifts, both, area), key=lambda one: one[2]
            )
        library().apply_moves(both, memory, found)
        return head_bytes(memory, found)

    @staticmethod
    def _find_moves(search: Any, both: Any, area: Area) -> tuple[Any, int, int]:
        """The moves, how many they are, and how many pixels they have."""
        memory = (MovedRect * _MAX_MOVES)()
        found = search(both, *area, memory, _MAX_MOVES)
        return memory, found, sum(move.width * move.height for move in memory[:found])

    def cached_tiles(self, frame: CapturedFrame, area: Area, *, skip: Any = None) -> tuple[bytes, bytes]:
        """The tiles of the area that the viewer is to cache, and then those to draw from its cache, as `CachedTile`s.

        They are drawn here, too.
        """
        if self._cache is None:
            size = library().tile_cache_size()
            self._cache = (ctypes.c_uint8 * size).from_buffer(mmap.mmap(-1, size))  # what is not used takes no memory
        store, draw, counts = (CachedTile * CACHED_TILES)(), (CachedTile * CACHED_TILES)(), (ctypes.c_int * 2)()
        library().find_cached_tiles(self._with(frame), self._cache, *area, skip, store, draw, CACHED_TILES, counts)
        return head_bytes(store, counts[1]), head_bytes(draw, counts[0])

    def drop_tile_cache(self) -> None:
        """Note that the viewer's tile cache is unknown."""
        self._cache = None

    def mark_sent(self, frame: CapturedFrame, rects: RectArray, *, lossy: bool = False) -> None:
        """Note that the viewer was sent these rects of the frame."""
        library().mark_sent(self._with(frame), rects.at(), len(rects), LOSSY if lossy else 0)

    def invalidate(self, area: Area) -> None:
        """Note that the viewer may have anything there."""
        library().invalidate(self._with(CapturedFrame(0, self.width, self.height)), *area)

    def _with(self, frame: CapturedFrame) -> Any:
        both = BufferPair(frame.address, ctypes.addressof(self._memory), self.width, self.width, self.height)
        return ctypes.byref(both)
