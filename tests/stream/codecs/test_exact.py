"""The codec of exact rects: what is packed is drawn bit for bit, and what was damaged on the way is refused or harmless."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sandbox_server.stream.classify.shadow_buffer import ShadowBuffer
from sandbox_server.stream.codecs.canvas import Canvas
from sandbox_server.stream.codecs.exact import MAX_UNPACKED, ExactPacker, decode_exact, encode_exact
from sandbox_server.stream.codecs.zstd import compress
from sandbox_server.stream.wire import EXACT, MalformedMessage
from tests.stream.canvases import sent, shown
from tests.stream.screens import framed, page, photograph, with_photograph

SIZE = (400, 300)


@pytest.mark.parametrize("image", [page(SIZE), photograph(SIZE), with_photograph(SIZE, (50, 60, 111, 97)), Image.new("RGB", SIZE, "teal")])
def test_what_is_sent_exactly_arrives_bit_for_bit(image: Image.Image) -> None:
    canvas = Canvas(*SIZE)
    sent(ShadowBuffer(*SIZE), canvas, framed(image))
    assert shown(canvas).tobytes() == image.tobytes()


@settings(deadline=None, database=None, max_examples=60)
@given(st.data())
def test_rects_that_were_damaged_on_the_way_do_no_harm(data: st.DataObject) -> None:
    size = (96, 64)
    shadow, frame = ShadowBuffer(*size), framed(with_photograph(size, (32, 32, 32, 32)))
    changes = shadow.changes(frame, (0, 0, *size))
    [packed] = ExactPacker().pack(frame, changes.all)
    damaged = bytearray(packed)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    Canvas(*size).unpack(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


@pytest.mark.parametrize("image", [page(SIZE), photograph(SIZE)], ids=["text", "photograph"])
def test_what_is_encoded_is_decoded_to_the_same_picture(image: Image.Image) -> None:
    shadow, frame, canvas = ShadowBuffer(*SIZE), framed(image), Canvas(*SIZE)
    for piece in ExactPacker().pack(frame, shadow.changes(frame, (0, 0, *SIZE)).all):
        operation = encode_exact(piece)
        assert operation[0] == EXACT
        assert int.from_bytes(operation[1:5], "little") == len(piece)
        decode_exact(operation[9:], len(piece), canvas)
    assert shown(canvas).tobytes() == image.tobytes()


@pytest.mark.parametrize(
    ("packed", "length"),
    [(b"rubbish", 7), (compress(b"rubbish"), 7), (compress(b"rubbish"), 9), (b"", MAX_UNPACKED + 1)],
    ids=["not compressed", "no rects", "another length", "too long"],
)
def test_what_is_no_exact_rect_is_refused(packed: bytes, length: int) -> None:
    with pytest.raises(MalformedMessage):
        decode_exact(packed, length, Canvas(32, 32))
