"""The messages of the server, as a viewer decodes them."""

import json
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_server.stream import wire
from sandbox_server.stream.codecs.reference_decoder import ReferenceDecoder
from sandbox_server.stream.codecs.zstd import compress
from sandbox_server.stream.input.input_echo import EchoedInput

VECTORS = json.loads((Path(__file__).parent.parent / "vectors.json").read_text("utf-8"))


def test_a_viewer_reads_what_the_server_says() -> None:
    picture = ReferenceDecoder()
    for message in (
        wire.hello(7, wire.MAY_ACT, 16, 8),
        wire.size(8, 16),
        wire.cursor((1, 2), (1, 1), compress(bytes(4))),
        wire.pointer(3, 4),
        wire.rights(wire.MAY_ACT | wire.DRIVES),
        wire.clipboard("copied"),
        wire.desktop(running=False),
        wire.pong(9),
        wire.sound(3, b"opus"),
        wire.acted(1, 2, (30, 40), b""),
        wire.acted(16, 1, (9, 8), bytes([1, 0, 2, 0, 9, 0, 8, 0])),
        wire.acted(17, 1, (9, 8), b"Ctrl+S"),
        wire.clip({"text/plain": b"bold", "text/html": b"<b>bold</b>"}),
    ):
        assert picture.take(message) is None
    assert (picture.canvas.width, picture.canvas.height) == (8, 16)
    assert picture.rights == wire.MAY_ACT | wire.DRIVES
    assert not picture.running
    assert list(picture.echoes) == [
        EchoedInput(1, (30, 40), 2),
        EchoedInput(16, (9, 8), path=((1, 2), (9, 8))),
        EchoedInput(17, (9, 8), keys="Ctrl+S"),
    ]
    assert (picture.heard, picture.copied, picture.forms["text/html"]) == ((3, b"opus"), "bold", b"<b>bold</b>")


def test_packets_of_sound_that_follow_each_other_are_read() -> None:
    picture = ReferenceDecoder()
    assert picture.take(wire.sounds(65535, 7, [b"one", b"", b"three"])) is None
    assert picture.sounds == [(7, b"one"), (8, b""), (9, b"three")]
    assert picture.heard == (9, b"three")


@settings(deadline=None, database=None)
@given(st.binary(max_size=60))
def test_sound_is_read_or_refused(body: bytes) -> None:
    picture = ReferenceDecoder()
    with suppress(wire.MalformedMessage):
        picture.take(bytes([wire.SOUNDS]) + body)
        assert sum(len(packet) + 2 for _, packet in picture.sounds) == len(body) - 6


def test_the_golden_messages_of_sound_are_heard() -> None:
    picture = ReferenceDecoder()
    for golden in VECTORS["heard"]:
        picture.take(bytes.fromhex(golden["message"]))
        packets = [[number, packet.hex()] for number, packet in picture.sounds]
        assert packets[-len(golden["packets"]) :] == golden["packets"]


def test_the_last_part_ends_a_frame() -> None:
    picture = ReferenceDecoder()
    picture.take(wire.hello(7, 0, 8, 8))
    assert picture.take(wire.part(1, b"", last=False)) is None
    assert picture.take(wire.part(1, b"", last=True)) == 1
