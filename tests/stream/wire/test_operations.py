"""The operations of a frame, as a viewer does them."""

import pytest

from sandbox_server.stream import wire
from sandbox_server.stream.picture import ViewerPicture
from sandbox_server.stream.zstd import compress

RED = b"\x00\x00\x00\x00\x04\x00\x04\x00\x00\xff\x00\x00"
"""One rect of 4x4 pixels, of one colour."""
DOWN = b"".join(number.to_bytes(2, "little") for number in (0, 0, 4, 4, 4, 4))


@pytest.fixture
def picture() -> ViewerPicture:
    picture = ViewerPicture()
    picture.take(wire.hello(1, 0, 8, 8))
    return picture


def test_operations_are_done_in_their_order(picture: ViewerPicture) -> None:
    picture.take(wire.part(1, wire.exact(compress(RED), len(RED)) + wire.moves(DOWN), last=True))
    assert [picture.image().getpixel(at) for at in ((3, 3), (5, 5), (5, 3))] == [(255, 0, 0), (255, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize("operation", [wire.jpeg((0, 0, 4, 4), b"none"), wire.film(1, (0, 0, 4, 4), b"none", key=True), b"\x63"])
def test_what_is_no_operation_is_refused(picture: ViewerPicture, operation: bytes) -> None:
    with pytest.raises(wire.BadMessage):
        picture.take(wire.part(1, operation, last=True))


def test_a_picture_that_comes_by_a_track_is_placed_and_not_read(picture: ViewerPicture) -> None:
    assert picture.take(wire.part(1, wire.tracked(3, (0, 0, 4, 4), 0xFFFFFFFF), last=True)) == 1
    assert picture.counts.operations["film"] == 1
    assert wire.read_picture(wire.picture(0xFFFFFFFF, b"unit")) == (0xFFFFFFFF, b"unit")


def test_the_end_of_a_film_that_never_began_is_nothing(picture: ViewerPicture) -> None:
    assert picture.take(wire.part(1, wire.film_ends(3), last=True)) == 1
