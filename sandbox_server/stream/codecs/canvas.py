"""The picture on a viewer's side, to which decoders draw: exact rects, moved rects, JPEGs and tiles of the cache."""

import ctypes
import mmap
from typing import Any

from sandbox_server.stream.geometry import Area
from sandbox_server.stream.native.library import CACHED_TILES, TILE, BufferPair, CachedTile, MovedRect, Rect, library


class Canvas:
    """A picture of `width` x `height` and the viewer's tile cache. Nothing that was received can write outside of either."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.pixels = bytearray(width * height * 4)
        self._memory = (ctypes.c_uint32 * (width * height)).from_buffer(self.pixels)
        cache_bytes = CACHED_TILES * TILE * TILE * 4
        self._cache = (ctypes.c_uint32 * (cache_bytes // 4)).from_buffer(mmap.mmap(-1, cache_bytes))
        self._filled = (ctypes.c_uint8 * CACHED_TILES)()

    def store_tiles(self, tiles: bytes) -> bool:
        """Copy tiles, given as `CachedTile`s, to the cache; False if one does not lie within the picture."""
        return self._with_cache(library().store_tiles, tiles)

    def draw_tiles(self, tiles: bytes) -> bool:
        """Draw cached tiles, given as `CachedTile`s; False if a slot is empty, or a tile does not lie within the picture."""
        return self._with_cache(library().draw_tiles, tiles)

    def _with_cache(self, work: Any, tiles: bytes) -> bool:
        count = len(tiles) // ctypes.sizeof(CachedTile)
        return bool(work(self._memory, self.width, self.height, tiles, count, self._cache, self._filled))

    def unpack(self, packed: bytes) -> bool:
        """Draw uncompressed exact rects; False at the first malformed one, after those before it were drawn."""
        return bool(library().unpack(packed, len(packed), self._memory, self.width, self.height))

    def move(self, moves: bytes) -> bool:
        """Apply `MovedRect`s; False, and none is applied, unless all of them lie within the picture."""
        count = len(moves) // ctypes.sizeof(MovedRect)
        memory = (MovedRect * count).from_buffer_copy(moves)
        if not all(self.contains(m.x, m.y, m.width, m.height) and self.contains(m.from_x, m.from_y, m.width, m.height) for m in memory):
            return False
        both = BufferPair(0, ctypes.addressof(self._memory), self.width, self.width, self.height)
        library().apply_moves(ctypes.byref(both), memory, count)
        return True

    def paste(self, area: Area, pixels: bytes) -> None:
        """Draw pixels without gaps between rows. The caller has checked that there are enough, and that they fit."""
        library().paste(pixels, ctypes.byref(Rect(*area)), self._memory, self.width)

    def contains(self, x: int, y: int, width: int, height: int) -> bool:
        """Whether an area lies within the picture."""
        return width > 0 and height > 0 and x + width <= self.width and y + height <= self.height
