"""The operations of a frame, as a viewer decodes them."""

import pytest

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.codecs.zstd import compress

RED = b"\x00\x00\x00\x00\x04\x00\x04\x00\x00\xff\x00\x00"
"""One rect of 4x4 pixels, of one colour."""
DOWN = b"".join(number.to_bytes(2, "little") for number in (0, 0, 4, 4, 4, 4))


@pytest.fixture
def picture() -> ReferenceDecoder:
    picture = ReferenceDecoder()
    picture.take(wire.hello(1, 0, 8, 8))
    return picture


def test_operations_are_done_in_their_order(picture: ReferenceDecoder) -> None:
    picture.take(wire.part(1, wire.exact(compress(RED), len(RED)) + wire.moves(DOWN), last=True))
    assert [picture.image().getpixel(at) for at in ((3, 3), (5, 5), (5, 3))] == [(255, 0, 0), (255, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize("operation", [wire.jpeg((0, 0, 4, 4), b"none"), wire.video(1, (0, 0, 4, 4), b"none", key=True), b"\x63"])
def test_what_is_no_operation_is_refused(picture: ReferenceDecoder, operation: bytes) -> None:
    with pytest.raises(wire.MalformedMessage):
        picture.take(wire.part(1, operation, last=True))


def test_a_picture_that_comes_by_a_track_is_placed_and_not_read(picture: ReferenceDecoder) -> None:
    assert picture.take(wire.part(1, wire.tracked(3, (0, 0, 4, 4), 0xFFFFFFFF), last=True)) == 1
    assert picture.counts.operations["video"] == 1
    assert wire.read_picture(wire.picture(0xFFFFFFFF, b"unit")) == (0xFFFFFFFF, b"unit")


def test_the_end_of_a_video_that_never_began_is_nothing(picture: ReferenceDecoder) -> None:
    assert picture.take(wire.part(1, wire.video_ends(3), last=True)) == 1
