"""Opus: what is encoded is the sound, and what is no Opus ends nothing."""

import array

import av
import pytest

from sandbox_server.stream.sound.opus import OpusDecoder, OpusEncoder
from tests.stream.sound.test_broadcast import TONE
from tests.stream.sound.test_microphone import SAMPLES, spoken


def test_what_is_encoded_is_the_sound() -> None:
    encoder = OpusEncoder()
    decoder = av.AudioCodecContext.create("opus", "r")
    packets = [packet for packet in (encoder.encode(TONE) for _ in range(20)) if packet]
    frames = [frame for packet in packets for frame in decoder.decode(av.Packet(packet))]
    loud = max(max(array.array("f", bytes(frame.planes[0]))) for frame in frames[5:])
    assert 0.4 < loud < 0.8
    assert sum(map(len, packets)) / len(packets) < 400


@pytest.mark.parametrize("rubbish", [b"\xff" * 40, b"\x00", b"rubbish" * 100])
def test_what_is_no_opus_ends_nothing(rubbish: bytes) -> None:
    decoder = OpusDecoder()
    decoder.decode(rubbish)
    assert len(decoder.decode(next(spoken(1)))) == SAMPLES * 2
