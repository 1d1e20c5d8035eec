"""Films: what is no picture of one is refused."""

import pytest
from PIL import Image

from sandbox_server.stream.films import FilmReader
from sandbox_server.stream.wire import BadMessage


def test_rubbish_is_refused_and_nothing_is_drawn() -> None:
    reader = FilmReader()
    with pytest.raises(BadMessage):
        reader.next((0, 0, 16, 16), b"\x00\x00\x00\x01\x67rubbish")
    picture = Image.new("RGB", (16, 16), "blue")
    reader.draw(picture)
    assert picture.getpixel((0, 0)) == (0, 0, 255)
