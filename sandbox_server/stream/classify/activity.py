"""Activity maps: how often each tile of the screen has changed recently."""

import ctypes

from sandbox_server.stream.geometry import Area
from sandbox_server.stream.native.library import Rect, library
from sandbox_server.stream.native.rect_array import RectArray

_MAX_CLUSTERS = 16
"""Clusters of active tiles that one look finds."""


class ActivityMap:
    """A level of 0 to 255 for each of `columns` x `rows` tiles. Changes raise it; it falls by `decay` a second."""

    def __init__(self, columns: int, rows: int, decay: int) -> None:
        self._columns, self._rows = columns, rows
        self._levels = (ctypes.c_uint8 * (columns * rows))()
        self._decay = decay
        self._decayed_at = 0.0

    def decay_to(self, now: float) -> None:
        """Lower all levels by what the time since the last call amounts to."""
        by = int((now - self._decayed_at) * self._decay)
        if by > 0:  # what is less than one counts the next time
            library().decay_activity(self._levels, len(self._levels), min(255, by))
            self._decayed_at += by / self._decay

    def raise_by(self, amount: int, rects: RectArray, *, unless: "ActivityMap | None" = None, above: int = 0) -> None:
        """Raise the tiles that the rects touch, except those whose level in the map `unless` is over `above`."""
        other = unless._levels if unless else None
        library().raise_activity(self._levels, other, above, self._columns, rects.at(), len(rects), amount)

    def clear(self, tiles: Area) -> None:
        """Set the level of some tiles to 0. The area is in tiles."""
        fill_tiles(self._levels, self._columns, tiles, 0)

    def clusters(self, other: "ActivityMap", threshold: int) -> list[tuple[Area, int]]:
        """Clusters of adjacent tiles that reach the threshold in this map or the other: the area in tiles, and how many of them do."""
        size = len(self._levels)
        seen, stack, found = (ctypes.c_uint8 * size)(), (ctypes.c_int * size)(), (Rect * _MAX_CLUSTERS)()
        count = library().find_active(self._levels, other._levels, seen, stack, self._columns, self._rows, threshold, found, _MAX_CLUSTERS)
        return [((rect.x, rect.y, rect.width, rect.height), rect.colour) for rect in found[:count]]


def fill_tiles(grid: "ctypes.Array[ctypes.c_uint8]", columns: int, tiles: Area, value: int) -> None:
    """Set the bytes of a grid with `columns` a row that belong to some tiles."""
    column, row, width, height = tiles
    for at in range(row, row + height):
        ctypes.memset(ctypes.addressof(grid) + at * columns + column, value, width)
