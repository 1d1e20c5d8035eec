"""Activity maps: changes raise tiles, time lowers them, and active tiles that touch are one cluster."""

import ctypes

from sandbox_server.stream.classify.activity import ActivityMap, fill_tiles
from sandbox_server.stream.native.rect_array import rect_array

COLUMNS, ROWS = 8, 6
TILES = rect_array([(32, 32, 64, 64)])
"""Columns and rows 1 and 2."""


def test_what_changes_is_a_cluster_until_it_has_decayed() -> None:
    activity, other = ActivityMap(COLUMNS, ROWS, 100), ActivityMap(COLUMNS, ROWS, 100)
    activity.raise_by(60, TILES)
    assert activity.clusters(other, 60) == [((1, 1, 2, 2), 4)]
    assert activity.clusters(other, 61) == []
    activity.decay_to(0.5)
    assert activity.clusters(other, 10) == [((1, 1, 2, 2), 4)]
    assert activity.clusters(other, 11) == []


def test_either_map_makes_a_tile_active_and_apart_they_are_two_clusters() -> None:
    activity, other = ActivityMap(COLUMNS, ROWS, 100), ActivityMap(COLUMNS, ROWS, 100)
    activity.raise_by(60, TILES)
    other.raise_by(60, rect_array([(160, 32, 32, 32)]))
    assert activity.clusters(other, 60) == [((1, 1, 2, 2), 4), ((5, 1, 1, 1), 1)]


def test_tiles_that_another_map_marks_are_not_raised() -> None:
    activity, marked = ActivityMap(COLUMNS, ROWS, 100), ActivityMap(COLUMNS, ROWS, 100)
    marked.raise_by(50, rect_array([(32, 32, 32, 64)]))
    activity.raise_by(60, TILES, unless=marked, above=49)
    assert activity.clusters(activity, 60) == [((2, 1, 1, 2), 2)]
    activity.raise_by(60, TILES, unless=marked, above=50)
    assert activity.clusters(activity, 60) == [((1, 1, 2, 2), 4)]


def test_a_level_ends_at_255_and_is_cleared_by_the_tile() -> None:
    activity = ActivityMap(COLUMNS, ROWS, 100)
    for _ in range(3):
        activity.raise_by(200, TILES)
    assert activity.clusters(activity, 255) == [((1, 1, 2, 2), 4)]
    activity.clear((1, 1, 1, 2))
    assert activity.clusters(activity, 1) == [((2, 1, 1, 2), 2)]


def test_only_the_tiles_of_an_area_are_filled() -> None:
    grid = (ctypes.c_uint8 * (COLUMNS * ROWS))()
    fill_tiles(grid, COLUMNS, (2, 1, 3, 2), 1)
    assert {at for at in range(COLUMNS * ROWS) if grid[at]} == {row * COLUMNS + column for row in (1, 2) for column in (2, 3, 4)}
