"""Arrays of rects that the C kernels share."""

import ctypes

from sandbox_server.stream.native.library import MovedRect, Rect
from sandbox_server.stream.native.rect_array import RectArray, head_bytes, rect_array, scrolled_areas

AREAS = [(1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12)]


def test_an_array_has_a_rect_for_each_area() -> None:
    array = rect_array(AREAS)
    assert [(rect.x, rect.y, rect.width, rect.height) for rect in array] == AREAS
    assert array.pixels == 12 + 56 + 132


def test_a_slice_begins_at_its_own_first_rect() -> None:
    part = RectArray(rect_array(AREAS).memory, 1, 2)
    assert len(part) == 2
    assert Rect.from_address(part.at()).x == 5
    assert Rect.from_address(part.at(1)).x == 9


def test_a_scroll_touches_where_pixels_came_from_and_where_they_are() -> None:
    moves = (MovedRect * 2)(MovedRect(0, 100, 0, 40, 50, 30), MovedRect(10, 0, 0, 0, 20, 20))
    assert scrolled_areas(bytes(moves)) == [(0, 40, 50, 90), (0, 0, 30, 20)]


def test_the_head_of_an_array_is_as_many_bytes_as_its_structures_have() -> None:
    memory = (ctypes.c_uint16 * 4)(1, 2, 3, 4)
    assert head_bytes(memory, 2) == b"\x01\x00\x02\x00"
