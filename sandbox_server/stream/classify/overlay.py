"""Overlay detection: the parts of a video region that stand still, as a menu, a dialog or a caption over the video does."""

import ctypes

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.geometry import Area
from sandbox_server.stream.native.library import BufferPair, Rect, library

_CELL = 8
"""Side of the cells that are checked for standing still, in pixels."""
MAX_OVERLAYS = 128
"""Overlay rects of one video region."""


class OverlayDetector:
    """Finds the overlay of one video region, picture by picture."""

    def __init__(self, area: Area) -> None:
        self.area = area
        pixels, cells = area[2] * area[3], -(-area[2] // _CELL) * -(-area[3] // _CELL)
        self._last = (ctypes.c_uint32 * pixels)()
        self._since = (ctypes.c_uint32 * pixels)()
        self._cells = (ctypes.c_uint8 * (cells * library().cell_size()))()
        self._mask = (ctypes.c_uint8 * cells)()
        self._looks = 0
        self.overlays: list[Area] = []
        """The overlay rects as of the latest `update`, at most MAX_OVERLAYS."""

    def update(self, frame: CapturedFrame, budget: int) -> bool:
        """Compare with the next picture: whether the video itself has changed. The overlay grows by at most `budget` pixels."""
        found, moved, region = (Rect * MAX_OVERLAYS)(), ctypes.c_int(), Rect(*self.area)
        both = BufferPair(frame.address, None, frame.width, frame.width, frame.height)
        memory = self._last, self._since, self._cells, self._mask
        count = library().find_overlay(
            ctypes.byref(both), ctypes.byref(region), *memory, self._looks + 1, budget, found, MAX_OVERLAYS, ctypes.byref(moved)
        )
        if count >= 0:
            self._looks += 1
            self.overlays = [(rect.x, rect.y, rect.width, rect.height) for rect in found[:count]]
        return bool(moved.value)
