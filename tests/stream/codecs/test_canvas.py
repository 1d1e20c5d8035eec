"""A viewer's canvas: nothing that is received writes outside of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.native.library import CACHED_TILES, TILE


@settings(deadline=None, database=None, max_examples=60)
@given(st.binary(max_size=400))
def test_bytes_that_are_no_rects_are_refused_and_write_nowhere_else(rubbish: bytes) -> None:
    canvas = Canvas(64, 48)
    canvas.unpack(rubbish)
    assert len(canvas.pixels) == 64 * 48 * 4


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.integers(0, 65535), min_size=3, max_size=3))
def test_a_tile_is_stored_and_drawn_only_within_the_picture(numbers: list[int]) -> None:
    canvas = Canvas(80, 60)
    tile = b"".join(number.to_bytes(2, "little") for number in numbers)
    slot, x, y = numbers
    inside = slot < CACHED_TILES and x + TILE <= 80 and y + TILE <= 60
    assert not canvas.draw_tiles(tile)
    assert canvas.store_tiles(tile) == inside
    assert canvas.draw_tiles(tile) == inside


@settings(deadline=None, database=None, max_examples=60)
@given(st.lists(st.integers(0, 65535), min_size=6, max_size=6))
def test_a_move_is_made_only_within_the_picture(numbers: list[int]) -> None:
    canvas = Canvas(80, 60)
    from_x, from_y, x, y, width, height = numbers
    inside = all((width, height)) and max(from_x, x) + width <= 80 and max(from_y, y) + height <= 60
    assert canvas.move(b"".join(number.to_bytes(2, "little") for number in numbers)) == inside
