"""The reference decoder: it shows the golden frames, and no message does harm."""

import hashlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sandbox_server.stream import wire
from sandbox_server.stream.classify.shadow_buffer import ShadowBuffer
from sandbox_server.stream.codecs.exact import ExactPacker
from sandbox_server.stream.codecs.h264 import H264Encoder
from sandbox_server.stream.codecs.reference_decoder import MAX_OVERLAYS, ReferenceDecoder
from sandbox_server.stream.codecs.zstd import compress
from sandbox_server.stream.wire import MalformedMessage
from tests.stream.screens import framed, page
from tests.tables import table_test

VECTORS = json.loads((Path(__file__).parent.parent / "vectors.json").read_text("utf-8"))
HELLO = wire.hello(1, 0, 32, 24)


def jpeg(size: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, "JPEG")
    return out.getvalue()


def test_the_golden_messages_show_the_golden_frames() -> None:
    picture = ReferenceDecoder()
    for shown in VECTORS["shown"]:
        picture.take(bytes.fromhex(shown["message"]))
        assert hashlib.sha256(picture.image().tobytes()).hexdigest() == shown["sha256"]
    assert picture.frame == len(VECTORS["shown"]) - 1


def test_the_golden_frames_have_every_form_of_a_rect_and_a_move() -> None:
    picture = ReferenceDecoder()
    for shown in VECTORS["shown"]:
        picture.take(bytes.fromhex(shown["message"]))
    assert {"exact", "moves", "keep", "kept", "over"} <= set(picture.counts.operations)


def test_a_photograph_is_drawn_where_it_belongs() -> None:
    picture = ReferenceDecoder()
    picture.take(HELLO)
    assert picture.take(wire.part(1, wire.jpeg((8, 4, 16, 8), jpeg((16, 8))), last=True)) == 1
    red = picture.image().getpixel((12, 8))
    assert isinstance(red, tuple)
    assert red[0] > 200
    assert picture.image().getpixel((7, 8)) == (0, 0, 0)


def test_what_lies_over_a_video_is_the_picture_and_after_it_has_ended_all_is() -> None:
    size, over = (192, 128), (20, 30, 61, 47)
    picture, below, encoder = ReferenceDecoder(), page(size), H264Encoder((0, 0, *size), 1_000_000)
    picture.take(wire.hello(1, 0, *size))
    shadow, frame = ShadowBuffer(*size), framed(below)
    changes = shadow.changes(frame, (0, 0, *size))
    operations = b"".join(wire.exact(compress(piece), len(piece)) for piece in ExactPacker().pack(frame, changes.exact))
    encoder.capture(framed(Image.new("RGB", size, "red")))
    video = wire.video(3, encoder.area, encoder.encode(1_000_000)[0], key=True)
    picture.take(wire.part(1, operations + video + wire.over(3, [over]), last=True))
    box = (over[0], over[1], over[0] + over[2], over[1] + over[3])
    assert picture.image().crop(box).tobytes() == below.crop(box).tobytes()
    outside = picture.image().getpixel((box[2], box[3]))
    assert isinstance(outside, tuple)
    assert outside[0] > 200
    assert max(outside[1:]) < 40
    picture.take(wire.part(2, wire.video_ends(3), last=True))
    assert picture.image().tobytes() == below.tobytes()
    picture.take(wire.part(3, video, last=True))
    assert picture.image().crop(box).tobytes() != below.crop(box).tobytes(), "what lay over a video that has ended lies over no other"


def test_what_is_no_pixel_is_kept_too() -> None:
    picture = ReferenceDecoder()
    messages = [HELLO, wire.rights(1), wire.clipboard("copied"), wire.pointer(3, 4), wire.desktop(running=False), wire.pong(1)]
    for message in [*messages, wire.cursor((1, 2), (2, 2), compress(bytes(16)))]:
        assert picture.take(message) is None
    assert (picture.rights, picture.copied, picture.pointer, picture.running, picture.cursor) == (
        1,
        "copied",
        (3, 4),
        False,
        (1, 2, bytes(16)),
    )


@table_test(
    [
        b"",
        b"\xff",
        wire.size(0, 10),
        wire.size(60000, 10),
        wire.size(1, 1) + b"!",
        wire.part(1, b"\xff", last=True),
        wire.part(1, wire.exact(compress(b"x" * 9), 9), last=True),
        wire.part(1, wire.exact(b"rubbish", 9), last=True),
        wire.part(1, wire.exact(b"", 1 << 31), last=True),
        wire.part(1, wire.moves(bytes([0, 0, 0, 0, 31, 0, 0, 0, 2, 0, 1, 0])), last=True),
        wire.part(1, wire.keep(bytes([0, 0, 1, 0, 0, 0])), last=True),
        wire.part(1, wire.keep(bytes([0, 16, 0, 0, 0, 0])), last=True),
        wire.part(1, wire.kept(bytes(6)), last=True),
        wire.part(1, wire.jpeg((0, 0, 16, 8), b"rubbish"), last=True),
        wire.part(1, wire.jpeg((0, 0, 16, 8), jpeg((8, 8))), last=True),
        wire.part(1, wire.jpeg((20, 0, 16, 8), jpeg((16, 8))), last=True),
        wire.part(1, wire.over(0, [(0, 0, 33, 8)]), last=True),
        wire.part(1, wire.over(0, [(0, 0, 0, 8)]), last=True),
        wire.part(1, wire.over(0, [(0, 0, 8, 8)] * (MAX_OVERLAYS + 1)), last=True),
        wire.part(1, wire.over(0, [(0, 0, 8, 8)])[:-1], last=True),
        wire.part(1, wire.video(0, (0, 0, 16, 16), b"\x00\x00\x00\x01\x67rubbish", key=True), last=True),
        b"\x08\xff\xfe",
    ]
)
def test_what_is_wrong_is_refused(message: bytes) -> None:
    picture = ReferenceDecoder()
    picture.take(HELLO)
    with pytest.raises(MalformedMessage):
        picture.take(message)


@settings(deadline=None, database=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_refused(message: bytes) -> None:
    picture = ReferenceDecoder()
    picture.take(HELLO)
    try:
        picture.take(message)
    except MalformedMessage:
        return
    assert message[0] in picture._known


@settings(deadline=None, database=None, max_examples=50)
@given(st.data())
def test_golden_messages_that_were_damaged_do_no_harm(data: st.DataObject) -> None:
    picture = ReferenceDecoder()
    for shown in VECTORS["shown"]:
        message = bytearray.fromhex(shown["message"])
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
        if message[0] in (wire.HELLO, wire.SIZE):
            message[-4:] = bytes([96, 0, 80, 0])
        try:
            picture.take(bytes(message))
        except MalformedMessage:
            continue
