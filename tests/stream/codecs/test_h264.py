"""The H.264 codec: decoded video looks like the screen, takes less where the link takes less, and malformed input is refused."""

import pytest
from PIL import Image, ImageChops, ImageStat

from sandbox_server.stream.codecs.h264 import H264Decoder, H264Encoder
from sandbox_server.stream.wire import MalformedMessage
from tests.stream.screens import framed, photograph

SIZE = (320, 240)
AREA = (64, 32, 192, 128)


def difference(one: Image.Image, other: Image.Image) -> float:
    """How far two pictures are apart, of 255, on average."""
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


def test_a_video_is_seen_as_it_is() -> None:
    encoder, decoder = H264Encoder(AREA, 8_000_000), H264Decoder()
    box = (64, 32, 256, 160)
    for number in range(5):
        image = photograph(SIZE, number).resize((20, 15)).resize(SIZE, Image.Resampling.BICUBIC)
        encoder.capture(framed(image))
        packed, key = encoder.encode(8_000_000)
        assert key == (number == 0)
        decoder.decode(AREA, packed)
        seen = Image.new("RGB", SIZE)
        decoder.draw(seen)
        assert difference(seen.crop(box), image.crop(box)) < 6
        assert seen.getpixel((0, 0)) == (0, 0, 0)


def test_less_is_sent_where_the_link_takes_less() -> None:
    sizes = {}
    for rate in (20_000_000, 300_000):
        encoder = H264Encoder((0, 0, *SIZE), 20_000_000)
        lengths = []
        for number in range(12):
            encoder.capture(framed(photograph(SIZE, number)))
            lengths.append(len(encoder.encode(rate)[0]))
        sizes[rate] = sum(lengths[4:])
    assert sizes[300_000] < sizes[20_000_000] / 4


def test_at_half_the_size_it_is_still_seen_where_it_belongs() -> None:
    area, image = (64, 32, 190, 126), photograph(SIZE).resize((20, 15)).resize(SIZE, Image.Resampling.BICUBIC)
    encoder, decoder, seen = H264Encoder(area, 8_000_000, scale=2), H264Decoder(), Image.new("RGB", SIZE)
    assert encoder.quantiser is None
    encoder.capture(framed(image))
    decoder.decode(area, encoder.encode(8_000_000)[0])
    decoder.draw(seen)
    box = (64, 32, 254, 158)
    assert difference(seen.crop(box), image.crop(box)) < 6
    assert seen.getpixel((254, 40)) == seen.getpixel((63, 40)) == (0, 0, 0)
    assert encoder.quantiser is not None
    assert 0 < encoder.quantiser < 30


def test_how_coarse_it_has_become_is_known() -> None:
    encoder, found = H264Encoder((0, 0, *SIZE), 20_000_000), []
    for number in range(12):
        encoder.capture(framed(photograph(SIZE, number)))
        encoder.encode(20_000_000 if number < 4 else 200_000)
        found.append(encoder.quantiser or 0.0)
    assert min(found[8:]) > max(found[:4]) + 4


def test_a_video_that_was_lost_begins_again_with_a_picture_that_needs_none_before_it() -> None:
    encoder, keys = H264Encoder(AREA, 8_000_000), []
    for number in range(5):
        if number == 3:
            encoder.request_keyframe()
        encoder.capture(framed(photograph(SIZE, number)))
        packed, key = encoder.encode(8_000_000)
        keys.append(key)
        if number == 3:
            decoder, seen = H264Decoder(), Image.new("RGB", SIZE)
            decoder.decode(AREA, packed)
            decoder.draw(seen)
            assert seen.crop((64, 32, 256, 160)).getbbox()
    assert keys == [True, False, False, True, False]


def test_rubbish_is_refused_and_nothing_is_drawn() -> None:
    decoder = H264Decoder()
    with pytest.raises(MalformedMessage):
        decoder.decode((0, 0, 16, 16), b"\x00\x00\x00\x01\x67rubbish")
    picture = Image.new("RGB", (16, 16), "blue")
    decoder.draw(picture)
    assert picture.getpixel((0, 0)) == (0, 0, 255)
