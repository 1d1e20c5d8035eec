"""Rectangles on the screen."""

import pytest

from sandbox_server.stream.geometry import Area, align_to_grid, bounding_box, clip, contains, intersects, split_rows


def test_a_bounding_box_holds_all_areas_and_no_more() -> None:
    assert bounding_box([(4, 4, 2, 2), (0, 5, 1, 9)]) == (0, 4, 6, 10)


@pytest.mark.parametrize(("other", "meets"), [((9, 9, 5, 5), True), ((10, 0, 5, 5), False), ((0, 10, 5, 5), False), ((-5, -5, 6, 6), True)])
def test_areas_intersect_where_they_share_a_pixel(other: Area, *, meets: bool) -> None:
    assert intersects((0, 0, 10, 10), other) == meets


def test_an_area_contains_itself_and_what_lies_within() -> None:
    assert contains((0, 0, 10, 10), (0, 0, 10, 10))
    assert contains((0, 0, 10, 10), (2, 3, 8, 7))
    assert not contains((0, 0, 10, 10), (2, 3, 9, 7))


def test_an_area_is_clipped_to_the_screen_and_gone_outside_of_it() -> None:
    assert clip((-5, 470, 20, 20), 640, 480) == (0, 470, 15, 10)
    assert clip((640, 0, 5, 5), 640, 480) is None


def test_an_area_is_aligned_to_the_cells_that_it_touches_within_the_screen() -> None:
    assert align_to_grid((33, 31, 2, 2), 32, 640, 480) == (32, 0, 32, 64)
    assert align_to_grid((630, 470, 5, 5), 32, 640, 475) == (608, 448, 32, 27)


def test_an_area_is_split_after_so_many_pixels_and_one_row_at_least() -> None:
    assert split_rows((1, 2, 100, 50), 1000) == ((1, 2, 100, 10), (1, 12, 100, 40))
    assert split_rows((1, 2, 100, 50), 7) == ((1, 2, 100, 1), (1, 3, 100, 49))
    assert split_rows((1, 2, 100, 50), 5000) == ((1, 2, 100, 50), None)
