"""The codec of photographs: what is decoded looks like what was encoded, and what is no JPEG of that size is refused."""

import io

import pytest
from PIL import Image, ImageChops, ImageStat

from sandbox_server.stream.codecs.jpeg import decode_jpeg, encode_jpeg
from sandbox_server.stream.wire import JPEG, MalformedMessage
from tests.stream.screens import photograph

AREA = (8, 4, 96, 64)
HEAD = 13
"""Bytes of the operation before the JPEG."""


def test_a_photograph_looks_like_itself_afterwards() -> None:
    image = photograph(AREA[2:])
    operation = encode_jpeg(AREA, bytearray(image.tobytes("raw", "BGRX")))
    assert operation[0] == JPEG
    pixels = decode_jpeg(operation[HEAD:], AREA[2:])
    found = Image.frombytes("RGB", AREA[2:], pixels, "raw", "BGRX", 0, 1)
    assert max(ImageStat.Stat(ImageChops.difference(found, image)).mean) < 8


def test_a_jpeg_of_another_size_is_refused() -> None:
    operation = encode_jpeg(AREA, bytearray(photograph(AREA[2:]).tobytes("raw", "BGRX")))
    with pytest.raises(MalformedMessage, match="size"):
        decode_jpeg(operation[HEAD:], (96, 65))


def test_what_is_no_jpeg_is_refused() -> None:
    png = io.BytesIO()
    Image.new("RGB", (4, 4)).save(png, "PNG")
    for rubbish in (b"", b"rubbish", png.getvalue()):
        with pytest.raises(MalformedMessage, match="no JPEG"):
            decode_jpeg(rubbish, (4, 4))
