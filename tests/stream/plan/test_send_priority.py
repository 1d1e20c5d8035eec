"""Send priority: what is near the pointer comes first, and nothing is left out or comes twice."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.plan.send_priority import BAND_ROWS, by_priority, outermost

SIDES = st.integers(0, 400)
AREAS = st.lists(st.tuples(SIDES, SIDES, st.integers(1, 200), st.integers(1, 600)), max_size=5)


@settings(deadline=None, database=None)
@given(AREAS, st.tuples(SIDES, SIDES))
def test_bands_have_every_pixel_that_the_areas_have(areas: list[tuple[int, int, int, int]], pointer: tuple[int, int]) -> None:
    bands = by_priority(areas, pointer)
    rows = sorted((x, width, row) for x, y, width, height in bands for row in range(y, y + height))
    assert rows == sorted((x, width, row) for x, y, width, height in areas for row in range(y, y + height))
    assert all(height <= BAND_ROWS for _, _, _, height in bands)


def test_the_band_under_the_pointer_comes_first() -> None:
    first, *rest = by_priority([(0, 0, 800, 1000), (900, 500, 50, 50)], (100, 610))
    assert first[1] <= 610 < first[1] + first[3]
    assert rest[0][1] == 640  # which is nearer than what is above
    assert [band[0] for band in rest[-2:]] == [900, 900]
    assert by_priority([(0, 0, 800, 10), (900, 5, 50, 50)], (910, 20))[0] == (900, 5, 50, 50)


def test_what_waits_far_from_the_pointer_comes_before_long() -> None:
    near, far = (100, 640, 50, 50), (0, 0, 200, 100)
    assert by_priority([near, far], (100, 700)) == [near, far]
    assert by_priority([near, far], (100, 700), {(0, 0, 1280, 128): 10}) == [far, near]


@settings(deadline=None, database=None)
@given(AREAS)
def test_areas_within_others_are_left_out_and_nothing_else_is(areas: list[tuple[int, int, int, int]]) -> None:
    found = outermost([*areas, *areas])
    assert len(found) == len(set(found))
    for x, y, width, height in areas:
        holders = [(left, top, wide, high) for left, top, wide, high in found if left <= x and top <= y]
        assert any(x + width <= left + wide and y + height <= top + high for left, top, wide, high in holders)
